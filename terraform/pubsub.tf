# Topics, each with the topic that its dead letters go to. The subscriptions that push to functions are in modules/function.

locals {
  topics = toset(["inbound", "turns", "deliveries", "cron", "sweeps"])
}

resource "google_pubsub_topic" "wake" {
  for_each = local.topics

  name       = each.key
  depends_on = [google_project_service.api]
}

# What other systems are told of conversations, as far as kesoku.yaml names it under lifecycle. Whoever wants to hear it adds a subscription.
resource "google_pubsub_topic" "lifecycle" {
  name       = "lifecycle"
  depends_on = [google_project_service.api]
}

resource "google_pubsub_topic" "dead" {
  for_each = local.topics

  name       = "${each.key}-dead"
  depends_on = [google_project_service.api]
}

# A topic without a subscription drops what it gets. These keep dead letters for a person, for the longest time there is: 31 days.
resource "google_pubsub_subscription" "dead" {
  for_each = local.topics

  name                       = "${each.key}-dead"
  topic                      = google_pubsub_topic.dead[each.key].id
  ack_deadline_seconds       = 600
  message_retention_duration = "2678400s"

  # The default forgets a subscription that nobody reads for 31 days, and nobody reads these while all is well.
  expiration_policy {
    ttl = ""
  }
}

# Dead letters are published by Pub/Sub itself; without this right they stay where they are and come again for ever. The account exists once
# the first topic does.
resource "google_pubsub_topic_iam_member" "dead_letters" {
  for_each = local.topics

  topic  = google_pubsub_topic.dead[each.key].name
  role   = "roles/pubsub.publisher"
  member = local.pubsub_agent
}

# Whom Pub/Sub calls functions as. It may do that and nothing else.
resource "google_service_account" "invoker" {
  account_id   = "kesoku-invoker"
  display_name = "Kesoku: pushes wake-ups to functions"
  depends_on   = [google_project_service.api]
}
