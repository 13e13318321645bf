# What everything else stands on: the provider, the project's APIs, and the values that every function is given.

provider "google" {
  project        = var.project_id
  region         = var.region
  default_labels = merge({ app = "kesoku" }, var.labels)
}

locals {
  apis = toset([
    "aiplatform.googleapis.com",
    "artifactregistry.googleapis.com",
    "billingbudgets.googleapis.com",
    "chat.googleapis.com",
    "cloudbuild.googleapis.com",
    "cloudfunctions.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "cloudscheduler.googleapis.com",
    "cloudtrace.googleapis.com",
    "firestore.googleapis.com",
    "iam.googleapis.com",
    "iamcredentials.googleapis.com", # nothing at work needs it, but an operator who takes a service account's place does: docs/deploy.md
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "pubsub.googleapis.com",
    "run.googleapis.com",
    "secretmanager.googleapis.com",
    "storage.googleapis.com",
    "telemetry.googleapis.com",
    "workspaceevents.googleapis.com",
  ])

  # The address of a function's first kind, region and project alone, can be written down before the function exists; the one that Cloud Run
  # makes up cannot, and the webhook has to be told its own.
  webhook_url = coalesce(var.webhook_url, "https://${var.region}-${var.project_id}.cloudfunctions.net/googlechat")

  # Google's own account that pushes messages and moves dead letters.
  pubsub_agent = "serviceAccount:service-${var.project_number}@gcp-sa-pubsub.iam.gserviceaccount.com"

  # What modules/function needs to know of the project.
  platform = {
    project_id     = var.project_id
    region         = var.region
    runtime        = var.runtime
    dist           = var.dist
    builder        = google_service_account.builder.id
    invoker        = google_service_account.invoker.email
    pubsub_agent   = local.pubsub_agent
    source_bucket  = google_storage_bucket.source.name
    staging_bucket = google_storage_bucket.staging.name
    database       = google_firestore_database.default.name
    trace_fraction = var.trace_fraction
  }
}

resource "google_project_service" "api" {
  for_each = local.apis

  service = each.key
  # Somebody else may need them; and turning one off deletes what it serves.
  disable_on_destroy = false
}
