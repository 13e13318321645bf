# Who builds the functions. The default account of Cloud Build has rights over the whole project, and in new projects often none at all.

resource "google_service_account" "builder" {
  account_id   = "kesoku-builder"
  display_name = "Kesoku: builds functions"
  depends_on   = [google_project_service.api]
}

# On the project, since the repository and the log that builds write to are the platform's, and are made by the first build.
resource "google_project_iam_member" "builder" {
  for_each = toset(["roles/artifactregistry.writer", "roles/logging.logWriter"])

  project = var.project_id
  role    = each.key
  member  = google_service_account.builder.member
}

# The platform copies a bundle into a bucket of its own, and builds from there.
resource "google_project_iam_member" "builder_source" {
  project = var.project_id
  role    = "roles/storage.objectViewer"
  member  = google_service_account.builder.member

  condition {
    title      = "function-sources"
    expression = "resource.name.startsWith(\"projects/_/buckets/gcf-v2-sources-${var.project_number}-${var.region}\")"
  }
}
