# What Google would make up, in the form that it has: the provider checks forms under mocks too.

mock_resource "google_service_account" {
  defaults = {
    id     = "projects/my-kesoku/serviceAccounts/kesoku-mock@my-kesoku.iam.gserviceaccount.com"
    email  = "kesoku-mock@my-kesoku.iam.gserviceaccount.com"
    member = "serviceAccount:kesoku-mock@my-kesoku.iam.gserviceaccount.com"
  }
}

mock_resource "google_cloudfunctions2_function" {
  defaults = {
    url            = "https://asia-northeast1-my-kesoku.cloudfunctions.net/mock"
    service_config = { uri = "https://mock-abc123-an.a.run.app" }
  }
}

mock_resource "google_pubsub_topic" {
  defaults = {
    id = "projects/my-kesoku/topics/mock"
  }
}
