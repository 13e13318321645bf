# The webhook of Google Chat: verifies, stores, wakes the pipeline, answers.

module "googlechat" {
  source = "./modules/function"

  name            = "googlechat"
  description     = "Webhook of the Google Chat app"
  platform        = local.platform
  size            = merge({ memory_mib = 512, cpu = 1, concurrency = 80, min_instances = 0, max_instances = 20 }, lookup(var.sizes, "googlechat", {}))
  timeout_seconds = 30
  ingress         = "ALLOW_ALL"

  environment = {
    CHAT_PROJECT_NUMBER = var.project_number
    CHAT_AUDIENCE       = local.webhook_url
    CHAT_PUSH_ACCOUNT   = google_service_account.invoker.email
    CHAT_APP_USER       = var.chat_app_user
  }

  publishes  = [google_pubsub_topic.wake["inbound"].name]
  depends_on = [google_project_iam_member.builder, google_project_iam_member.builder_source, google_firestore_index.composite]
}

# Google Chat calls with tokens of its own, which the function verifies; Cloud Run knows only tokens for itself and has to let everyone in.
# Where an organisation forbids that (domain restricted sharing), the project needs an exception.
resource "google_cloud_run_v2_service_iam_member" "googlechat_public" {
  location = var.region
  name     = module.googlechat.name
  role     = "roles/run.invoker"
  member   = "allUsers"
}

# What rooms say that the app listens to. The sweep subscribes them at the Workspace Events API, which publishes here as Chat's own account and
# takes only a topic of the Chat app's project.
resource "google_pubsub_topic" "workspace_events" {
  name       = "workspace-events"
  depends_on = [google_project_service.api]
}

resource "google_pubsub_topic_iam_member" "workspace_events" {
  topic  = google_pubsub_topic.workspace_events.name
  role   = "roles/pubsub.publisher"
  member = "serviceAccount:chat-api-push@system.gserviceaccount.com"
}

# The webhook verifies this token like the others, by its own address.
resource "google_pubsub_subscription" "workspace_events" {
  name                 = "workspace-events"
  topic                = google_pubsub_topic.workspace_events.id
  ack_deadline_seconds = 60

  push_config {
    push_endpoint = local.webhook_url

    oidc_token {
      service_account_email = google_service_account.invoker.email
      audience              = local.webhook_url
    }
  }

  retry_policy {
    minimum_backoff = "10s"
    maximum_backoff = "600s"
  }

  # They are inbound events, only not stored yet.
  dead_letter_policy {
    dead_letter_topic     = google_pubsub_topic.dead["inbound"].id
    max_delivery_attempts = 20
  }

  expiration_policy {
    ttl = ""
  }
}

resource "google_pubsub_subscription_iam_member" "workspace_events_dead_letters" {
  subscription = google_pubsub_subscription.workspace_events.name
  role         = "roles/pubsub.subscriber"
  member       = local.pubsub_agent
}
