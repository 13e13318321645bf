# Buckets: the functions' source, and the staging area of attachments and long results.

resource "google_storage_bucket" "source" {
  name                        = "${var.project_id}-kesoku-source"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  # It holds nothing that cannot be built again.
  force_destroy = true

  versioning {
    enabled = true
  }

  # A bundle that a later one replaced is kept for a month, for going back.
  lifecycle_rule {
    condition {
      days_since_noncurrent_time = 30
    }
    action {
      type = "Delete"
    }
  }

  depends_on = [google_project_service.api]
}

resource "google_storage_bucket" "staging" {
  name                        = "${var.project_id}-kesoku-staging"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  # Like the database, it outlives any `terraform destroy`.
  deletion_policy = "ABANDON"

  # History is kept for ever, and what is staged is part of it; but it is hardly read once its turns are over.
  lifecycle_rule {
    condition {
      age = 90
    }
    action {
      type          = "SetStorageClass"
      storage_class = "COLDLINE"
    }
  }

  lifecycle_rule {
    condition {
      age = 1
    }
    action {
      type = "AbortIncompleteMultipartUpload"
    }
  }

  depends_on = [google_project_service.api]
}

import {
  for_each = toset(var.adopt ? ["${var.project_id}/${var.project_id}-kesoku-staging"] : [])
  to       = google_storage_bucket.staging
  id       = each.key
}
