# How a topic wakes the function: a push with a token, a retry policy and an end.

# What lets a caller in is the role on the Cloud Run service beneath, which bears the function's name.
resource "google_cloud_run_v2_service_iam_member" "push" {
  count = var.subscription == null ? 0 : 1

  location = var.platform.region
  name     = google_cloudfunctions2_function.this.name
  role     = "roles/run.invoker"
  member   = "serviceAccount:${var.platform.invoker}"
}

resource "google_pubsub_subscription" "push" {
  count = var.subscription == null ? 0 : 1

  name                 = var.name
  topic                = var.subscription.topic
  ack_deadline_seconds = var.ack_deadline_seconds

  push_config {
    # The topic's path tells the functions framework where the event came from; the run.app address is what counts as internal.
    push_endpoint = "${google_cloudfunctions2_function.this.service_config[0].uri}/${var.subscription.topic}"

    oidc_token {
      service_account_email = var.platform.invoker
      # Unset, it would be the endpoint with its path, and Cloud Run takes its own address alone.
      audience = google_cloudfunctions2_function.this.service_config[0].uri
    }
  }

  retry_policy {
    minimum_backoff = "10s"
    maximum_backoff = "600s"
  }

  dead_letter_policy {
    dead_letter_topic     = var.subscription.dead_letters
    max_delivery_attempts = var.max_delivery_attempts
  }

  # A bot that nobody talks to for a month must still answer.
  expiration_policy {
    ttl = ""
  }

  depends_on = [google_cloud_run_v2_service_iam_member.push]
}

# Pub/Sub takes a dead letter out of the subscription by this right.
resource "google_pubsub_subscription_iam_member" "dead_letters" {
  count = var.subscription == null ? 0 : 1

  subscription = google_pubsub_subscription.push[0].name
  role         = "roles/pubsub.subscriber"
  member       = var.platform.pubsub_agent
}
