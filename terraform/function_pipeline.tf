# Decides on events, in the order of their channel: ignored, or a prompt for a session.

module "pipeline" {
  source = "./modules/function"

  name            = "pipeline"
  description     = "Decides on events and hands prompts to sessions"
  platform        = local.platform
  size            = merge({ memory_mib = 512, cpu = 1, concurrency = 20, min_instances = 0, max_instances = 20 }, lookup(var.sizes, "pipeline", {}))
  timeout_seconds = 300

  environment = {
    CHAT_APP_USER   = var.chat_app_user
    VERTEX_PROJECT  = local.gemini_by_key ? "" : var.project_id
    VERTEX_LOCATION = local.gemini_by_key ? "" : var.vertex_location
  }

  # For the judge of rooms, where a route has one.
  secrets = { for name, secret in {
    GEMINI_API_KEY = { secret = google_secret_manager_secret.gemini_api_key.secret_id, version = tostring(var.gemini_api_key_version) }
  } : name => secret if local.gemini_by_key }
  project_roles = local.gemini_by_key ? [] : ["roles/aiplatform.user"]

  subscription = {
    topic        = google_pubsub_topic.wake["inbound"].id
    dead_letters = google_pubsub_topic.dead["inbound"].id
  }

  publishes = [google_pubsub_topic.wake["turns"].name, google_pubsub_topic.wake["deliveries"].name, google_pubsub_topic.lifecycle.name]
  # It stages attachments, and reads one back when it finds it staged already.
  staging_roles = ["roles/storage.objectCreator", "roles/storage.objectViewer"]
  depends_on    = [google_project_iam_member.builder, google_project_iam_member.builder_source, google_firestore_index.composite]
}
