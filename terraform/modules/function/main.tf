# One function: its identity, its bundle, the function itself, its rights, and the subscription that wakes it.

terraform {
  required_providers {
    google = {
      source = "hashicorp/google"
    }
  }
}

locals {
  zip = "${var.platform.dist}/${var.name}.zip"
  # `try`, so that a missing bundle is the precondition's to report, by name.
  digest = try(filesha256(local.zip), "missing")
}

resource "google_service_account" "this" {
  account_id   = "kesoku-${var.name}"
  display_name = "Kesoku: ${var.name}"
  description  = var.description
}

# The digest in the name makes a changed bundle a new object, and so a new deployment of this function and no other.
resource "google_storage_bucket_object" "source" {
  bucket = var.platform.source_bucket
  name   = "${var.name}/${local.digest}.zip"
  source = local.zip

  lifecycle {
    create_before_destroy = true

    precondition {
      condition     = fileexists(local.zip)
      error_message = "There is no bundle ${local.zip}: run `make package` first."
    }
  }
}

resource "google_cloudfunctions2_function" "this" {
  name        = var.name
  location    = var.platform.region
  description = var.description

  build_config {
    runtime         = var.platform.runtime
    entry_point     = var.name
    service_account = var.platform.builder

    source {
      storage_source {
        bucket = var.platform.source_bucket
        object = google_storage_bucket_object.source.name
      }
    }
  }

  # No event_trigger: its subscription belongs to Eventarc, which knows neither our back-off nor dead letters.
  service_config {
    available_memory                 = "${var.size.memory_mib}Mi"
    available_cpu                    = tostring(var.size.cpu)
    max_instance_request_concurrency = var.size.concurrency
    min_instance_count               = var.size.min_instances
    max_instance_count               = var.size.max_instances
    timeout_seconds                  = var.timeout_seconds
    ingress_settings                 = var.ingress
    service_account_email            = google_service_account.this.email
    all_traffic_on_latest_revision   = true

    environment_variables = merge(
      {
        GOOGLE_CLOUD_PROJECT = var.platform.project_id, STAGING_BUCKET = var.platform.staging_bucket,
        # Cloud Trace, by OpenTelemetry's protocol.
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = "https://telemetry.googleapis.com/v1/traces", OTEL_TRACES_SAMPLER_ARG = tostring(var.platform.trace_fraction),
      },
      { for name, value in var.environment : name => value if value != "" },
    )

    dynamic "secret_environment_variables" {
      for_each = var.secrets
      content {
        project_id = var.platform.project_id
        key        = secret_environment_variables.key
        secret     = secret_environment_variables.value.secret
        version    = secret_environment_variables.value.version
      }
    }
  }

  # The platform looks into secrets when it deploys, and an instance uses its rights from the first request on.
  depends_on = [
    google_project_iam_member.database, google_project_iam_member.traces, google_project_iam_member.project, google_storage_bucket_iam_member.staging,
    google_pubsub_topic_iam_member.publishes, google_secret_manager_secret_iam_member.reads,
  ]
}

# Rights. What new code needs is given before it comes, and what old code needed is taken once it is gone: the function depends on all of
# them, and create_before_destroy takes a right last.

# Firestore has no policies on single databases; a condition does the same.
resource "google_project_iam_member" "database" {
  project = var.platform.project_id
  role    = "roles/datastore.user"
  member  = google_service_account.this.member

  condition {
    title      = "kesoku-database"
    expression = "resource.type == \"firestore.googleapis.com/Database\" && resource.name == \"projects/${var.platform.project_id}/databases/${var.platform.database}\""
  }
}

# Traces have no smaller resource than the project; the role writes them and reads nothing.
resource "google_project_iam_member" "traces" {
  project = var.platform.project_id
  role    = "roles/telemetry.tracesWriter"
  member  = google_service_account.this.member
}

resource "google_project_iam_member" "project" {
  for_each = toset(var.project_roles)

  project = var.platform.project_id
  role    = each.key
  member  = google_service_account.this.member

  lifecycle {
    create_before_destroy = true
  }
}

resource "google_storage_bucket_iam_member" "staging" {
  for_each = toset(var.staging_roles)

  bucket = var.platform.staging_bucket
  role   = each.key
  member = google_service_account.this.member

  lifecycle {
    create_before_destroy = true
  }
}

resource "google_pubsub_topic_iam_member" "publishes" {
  for_each = toset(var.publishes)

  topic  = each.key
  role   = "roles/pubsub.publisher"
  member = google_service_account.this.member

  lifecycle {
    create_before_destroy = true
  }
}

# By secret: another variable for the same secret must not take the right away.
resource "google_secret_manager_secret_iam_member" "reads" {
  for_each = toset([for s in var.secrets : s.secret])

  secret_id = each.key
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.this.member

  lifecycle {
    create_before_destroy = true
  }
}
