# Runs agent turns: model, tools, model.

module "turn" {
  source = "./modules/function"

  name        = "turn"
  description = "Runs agent turns"
  platform    = local.platform
  # A turn mostly waits for its model, so an instance runs several; each holds its history and attachments in memory.
  size            = merge({ memory_mib = 1024, cpu = 1, concurrency = 8, min_instances = 0, max_instances = 50 }, lookup(var.sizes, "turn", {}))
  timeout_seconds = 540

  environment = {
    # Leaves a minute for what runs to come to its next commit.
    TURN_CHECKPOINT = "480s"
    VERTEX_PROJECT  = local.gemini_by_key ? "" : var.project_id
    VERTEX_LOCATION = local.gemini_by_key ? "" : var.vertex_location
  }

  # A version that does not exist would fail the deployment, so an empty project begins without.
  secrets = { for name, secret in {
    GEMINI_API_KEY = { secret = google_secret_manager_secret.gemini_api_key.secret_id, version = tostring(var.gemini_api_key_version) }
  } : name => secret if local.gemini_by_key }

  subscription = {
    topic        = google_pubsub_topic.wake["turns"].id
    dead_letters = google_pubsub_topic.dead["turns"].id
  }

  # Calling a model has no smaller resource than the project.
  project_roles = local.gemini_by_key ? [] : ["roles/aiplatform.user"]
  publishes     = [google_pubsub_topic.wake["turns"].name, google_pubsub_topic.wake["deliveries"].name, google_pubsub_topic.lifecycle.name]
  staging_roles = ["roles/storage.objectCreator", "roles/storage.objectViewer"]
  depends_on    = [google_project_iam_member.builder, google_project_iam_member.builder_source, google_firestore_index.composite]
}
