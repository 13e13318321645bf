# Secrets without values: a value that passes through Terraform ends in its state. Versions are added by hand:
#
#   gcloud secrets versions add gemini-api-key --data-file=-

resource "google_secret_manager_secret" "gemini_api_key" {
  secret_id = "gemini-api-key"

  replication {
    auto {}
  }

  depends_on = [google_project_service.api]
}
