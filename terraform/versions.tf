terraform {
  # 1.9 lets a variable's validation look at other values; mocks that hold during plan came with 1.11.
  required_version = ">= 1.11"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 7.46"
    }
  }

  # The state's bucket is made once by hand, since a configuration cannot keep its state in a bucket that it creates:
  #
  #   gcloud storage buckets create gs://PROJECT-kesoku-state --location=REGION \
  #     --uniform-bucket-level-access --public-access-prevention
  #   gcloud storage buckets update gs://PROJECT-kesoku-state --versioning
  #   terraform init -backend-config=bucket=PROJECT-kesoku-state -backend-config=prefix=kesoku
  #
  # Whoever applies needs the roles of an owner on the project. The one API that has to be on beforehand is Service Usage, and it is in
  # every new project.
  backend "gcs" {}
}
