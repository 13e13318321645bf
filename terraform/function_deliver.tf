# Brings replies to Google Chat. Its right to post is that of every service account in the Chat app's project, and no role.

module "deliver" {
  source = "./modules/function"

  name            = "deliver"
  description     = "Brings replies to their platforms"
  platform        = local.platform
  size            = merge({ memory_mib = 512, cpu = 1, concurrency = 40, min_instances = 0, max_instances = 20 }, lookup(var.sizes, "deliver", {}))
  timeout_seconds = 540

  environment = {
    CHAT_ACTION_URL = var.chat_is_addon ? local.webhook_url : ""
  }

  subscription = {
    topic        = google_pubsub_topic.wake["deliveries"].id
    dead_letters = google_pubsub_topic.dead["deliveries"].id
  }

  publishes  = [google_pubsub_topic.wake["deliveries"].name, google_pubsub_topic.lifecycle.name]
  depends_on = [google_project_iam_member.builder, google_project_iam_member.builder_source, google_firestore_index.composite]
}
