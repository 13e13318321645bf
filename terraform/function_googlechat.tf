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
    CHAT_PUSH_ACCOUNT   = var.chat_push_account
    CHAT_APP_USER       = var.chat_app_user
  }

  publishes  = [google_pubsub_topic.wake["inbound"].name]
  depends_on = [google_project_iam_member.builder, google_project_iam_member.builder_source]
}

# Google Chat calls with tokens of its own, which the function verifies; Cloud Run knows only tokens for itself and has to let everyone in.
# Where an organisation forbids that (domain restricted sharing), the project needs an exception.
resource "google_cloud_run_v2_service_iam_member" "googlechat_public" {
  location = var.region
  name     = module.googlechat.name
  role     = "roles/run.invoker"
  member   = "allUsers"
}
