output "webhook_url" {
  description = "Where Google Chat sends events."
  value       = local.webhook_url
}

output "chat_api_configuration" {
  description = "What to write where on the console's page Google Chat API → Configuration."
  value = {
    "App name, avatar and description" = "as people shall see them"
    "Build as a Workspace add-on"      = var.chat_is_addon ? "checked" : "unchecked"
    "Interactive features"             = "on; receive 1:1 messages; join spaces and group conversations"
    "Connection settings"              = "HTTP endpoint URL: one common URL for all triggers: ${local.webhook_url}"
    "Authentication audience"          = "HTTP endpoint URL"
    "Visibility"                       = "the people or groups that may install it"
    "Logs"                             = "log errors to Logging"
  }
}

output "secrets_to_fill" {
  description = "Secrets that have no version in use yet, and how each gets one. Empty when none is needed."
  value = var.gemini_api_key_version > 0 ? {} : {
    (google_secret_manager_secret.gemini_api_key.secret_id) = join(" ", [
      "Only to use the Gemini API by key instead of Vertex AI:",
      "gcloud secrets versions add ${google_secret_manager_secret.gemini_api_key.secret_id} --data-file=- --project=${var.project_id},",
      "then apply with gemini_api_key_version set to the version that it prints.",
    ])
  }
}

output "staging_bucket" {
  description = "Bucket of attachments and long results."
  value       = google_storage_bucket.staging.name
}

output "dead_letters" {
  description = "Subscriptions that keep dead letters: gcloud pubsub subscriptions pull NAME --limit=10."
  value       = [for s in google_pubsub_subscription.dead : s.name]
}

output "functions" {
  description = "Functions and their service accounts."
  value = {
    for f in [module.googlechat, module.pipeline, module.turn, module.deliver, module.cron, module.sweep] : f.name => f.member
  }
}
