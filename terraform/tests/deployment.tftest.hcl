# The whole deployment against a mocked provider: no credentials, no project. It needs the bundles (make package) or files in their place.

mock_provider "google" {
  source = "./tests/mocks"
}

mock_provider "google" {
  alias  = "budget"
  source = "./tests/mocks"
}

variables {
  project_id     = "my-kesoku"
  project_number = "123456789012"
  region         = "asia-northeast1"
  alert_emails   = ["oncall@example.com"]
}

run "empty_project" {
  assert {
    condition     = output.webhook_url == "https://asia-northeast1-my-kesoku.cloudfunctions.net/googlechat"
    error_message = "The webhook's address does not follow from region and project: ${output.webhook_url}"
  }

  assert {
    condition     = google_firestore_database.default.location_id == "asia-northeast1"
    error_message = "Unless set, the database is where the functions are."
  }

  assert {
    condition     = contains(module.turn.project_roles, "roles/aiplatform.user")
    error_message = "Without a key, turn needs Vertex AI."
  }

  assert {
    condition     = length(output.secrets_to_fill) == 1
    error_message = "The outputs do not say which secret can be filled."
  }

  assert {
    condition     = length(google_cloud_scheduler_job.cron) == length(local.cronjobs) && google_cloud_scheduler_job.sweep.schedule == "* * * * *"
    error_message = "One schedule a cron job, and a sweep every minute."
  }

  assert {
    condition     = length(google_firestore_index.composite) == length(local.firestore.indexes) && length(google_firestore_field.override) == length(local.firestore.fieldOverrides)
    error_message = "Two entries of the index file have one key."
  }

  assert {
    condition     = length(google_billing_budget.monthly) == 0
    error_message = "Without a billing account there is no budget."
  }

  assert {
    condition     = length(google_pubsub_subscription.dead) == length(local.topics)
    error_message = "Every dead-letter topic needs a subscription."
  }
}

run "with_key_and_budget" {
  variables {
    gemini_api_key_version = 3
    billing_account        = "0A1B2C-3D4E5F-678901"
    webhook_url            = "https://kesoku.example.com/hook"
    chat_is_addon          = true
    firestore_location     = "eur3"
    sizes                  = { turn = { max_instances = 5 } }
  }

  assert {
    condition     = !contains(module.turn.project_roles, "roles/aiplatform.user") && length(output.secrets_to_fill) == 0
    error_message = "With a key, turn needs no right to Vertex AI and no secret is left to fill."
  }

  assert {
    condition     = google_billing_budget.monthly[0].amount[0].specified_amount[0].units == "50"
    error_message = "The budget is not the variable's."
  }

  assert {
    condition     = output.webhook_url == "https://kesoku.example.com/hook" && google_firestore_database.default.location_id == "eur3"
    error_message = "What is set does not win over what follows."
  }
}
