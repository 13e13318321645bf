# The module of one function by itself: the combinations that the platform refuses, and the two kinds of function.

mock_provider "google" {
  source = "./tests/mocks"
}

variables {
  name        = "turn"
  description = "test"
  platform = {
    project_id     = "my-kesoku"
    region         = "asia-northeast1"
    runtime        = "go126"
    dist           = "../dist"
    builder        = "projects/my-kesoku/serviceAccounts/kesoku-builder@my-kesoku.iam.gserviceaccount.com"
    invoker        = "kesoku-invoker@my-kesoku.iam.gserviceaccount.com"
    pubsub_agent   = "serviceAccount:service-1@gcp-sa-pubsub.iam.gserviceaccount.com"
    source_bucket  = "source"
    staging_bucket = "staging"
    database       = "(default)"
    trace_fraction = 1
  }
  size            = { memory_mib = 512, cpu = 1, concurrency = 8, min_instances = 0, max_instances = 2 }
  timeout_seconds = 540
}

run "behind_a_topic" {
  module {
    source = "./modules/function"
  }
  variables {
    subscription = { topic = "projects/my-kesoku/topics/turns", dead_letters = "projects/my-kesoku/topics/turns-dead" }
    environment  = { SET = "1", EMPTY = "" }
    # Two variables of one secret need one right.
    secrets       = { KEY = { secret = "key", version = "2" }, OLD_KEY = { secret = "key", version = "1" } }
    publishes     = ["turns", "deliveries"]
    project_roles = ["roles/aiplatform.user"]
    staging_roles = ["roles/storage.objectViewer"]
  }
  assert {
    condition     = google_pubsub_subscription.push[0].push_config[0].push_endpoint == "https://mock-abc123-an.a.run.app/projects/my-kesoku/topics/turns"
    error_message = "The push goes to ${google_pubsub_subscription.push[0].push_config[0].push_endpoint}."
  }
  assert {
    condition     = google_pubsub_subscription.push[0].push_config[0].oidc_token[0].audience == "https://mock-abc123-an.a.run.app"
    error_message = "The token is for another audience than the service."
  }
  assert {
    condition = google_cloudfunctions2_function.this.service_config[0].environment_variables == tomap({
      SET                                = "1"
      GOOGLE_CLOUD_PROJECT               = "my-kesoku"
      STAGING_BUCKET                     = "staging"
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = "https://telemetry.googleapis.com/v1/traces"
      OTEL_TRACES_SAMPLER_ARG            = "1"
    })
    error_message = "The environment is not its own, the shared one, and nothing empty."
  }
  assert {
    condition     = { for s in google_cloudfunctions2_function.this.service_config[0].secret_environment_variables : s.key => s.version } == { KEY = "2", OLD_KEY = "1" } && length(google_secret_manager_secret_iam_member.reads) == 1
    error_message = "A secret is given by version, and with the right to read it."
  }
  assert {
    condition     = google_cloudfunctions2_function.this.service_config[0].ingress_settings == "ALLOW_INTERNAL_ONLY" && length(google_pubsub_topic_iam_member.publishes) == 2
    error_message = "Unless said, a function is internal; it publishes to its own topics."
  }
  assert {
    condition     = output.project_roles == ["roles/aiplatform.user"] && [for m in google_storage_bucket_iam_member.staging : "${m.bucket} ${m.role}"] == ["staging roles/storage.objectViewer"]
    error_message = "It has not the roles that it was given, and no other."
  }
  assert {
    condition     = can(regex("^turn/[0-9a-f]{64}\\.zip$", google_storage_bucket_object.source.name))
    error_message = "The bundle's name does not follow from its content: ${google_storage_bucket_object.source.name}"
  }
}

run "webhook" {
  module {
    source = "./modules/function"
  }
  variables {
    ingress = "ALLOW_ALL"
  }
  assert {
    condition     = length(google_pubsub_subscription.push) == 0 && length(google_cloud_run_v2_service_iam_member.push) == 0
    error_message = "A webhook has no subscription, and Pub/Sub no business with it."
  }
}

run "concurrency_needs_a_cpu" {
  command = plan
  module {
    source = "./modules/function"
  }
  variables {
    size = { memory_mib = 512, cpu = 0.5, concurrency = 2, min_instances = 0, max_instances = 2 }
  }
  expect_failures = [var.size]
}

run "memory_needs_cpus" {
  command = plan
  module {
    source = "./modules/function"
  }
  variables {
    size = { memory_mib = 8192, cpu = 1, concurrency = 2, min_instances = 0, max_instances = 2 }
  }
  expect_failures = [var.size]
}

run "cpus_need_memory" {
  command = plan
  module {
    source = "./modules/function"
  }
  variables {
    size = { memory_mib = 1024, cpu = 4, concurrency = 2, min_instances = 0, max_instances = 2 }
  }
  expect_failures = [var.size]
}

run "least_above_most" {
  command = plan
  module {
    source = "./modules/function"
  }
  variables {
    size = { memory_mib = 512, cpu = 1, concurrency = 2, min_instances = 3, max_instances = 2 }
  }
  expect_failures = [var.size]
}

run "ack_deadline" {
  command = plan
  module {
    source = "./modules/function"
  }
  variables {
    ack_deadline_seconds = 601
  }
  expect_failures = [var.ack_deadline_seconds]
}

run "attempts" {
  command = plan
  module {
    source = "./modules/function"
  }
  variables {
    max_delivery_attempts = 4
  }
  expect_failures = [var.max_delivery_attempts]
}

run "longer_than_the_ack_deadline" {
  command = plan
  module {
    source = "./modules/function"
  }
  variables {
    timeout_seconds = 600
  }
  expect_failures = [var.timeout_seconds]
}

run "name" {
  command = plan
  module {
    source = "./modules/function"
  }
  variables {
    name = "Turn"
  }
  expect_failures = [var.name]
}
