# Puts the prompts of cron jobs into their conversations, by the clock.

module "cron" {
  source = "./modules/function"

  name            = "cron"
  description     = "Puts scheduled prompts into conversations"
  platform        = local.platform
  size            = merge({ memory_mib = 256, cpu = 0.5, concurrency = 1, min_instances = 0, max_instances = 10 }, lookup(var.sizes, "cron", {}))
  timeout_seconds = 120

  subscription = {
    topic        = google_pubsub_topic.wake["cron"].id
    dead_letters = google_pubsub_topic.dead["cron"].id
  }

  publishes  = [google_pubsub_topic.wake["turns"].name]
  depends_on = [google_project_iam_member.builder, google_project_iam_member.builder_source, google_firestore_index.composite]
}

locals {
  # The file that is published to the functions too, so that a trigger and what it means cannot differ.
  cronjobs = yamldecode(file("${path.module}/../infra/config/cronjobs.yaml")).jobs
}

resource "google_cloud_scheduler_job" "cron" {
  for_each = { for job in local.cronjobs : job.name => job }

  name      = "cron-${each.key}"
  region    = var.region
  schedule  = each.value.schedule
  time_zone = coalesce(try(each.value.time_zone, ""), "Etc/UTC")

  pubsub_target {
    topic_name = google_pubsub_topic.wake["cron"].id
    data       = base64encode(jsonencode({ job = each.key }))
  }

  retry_config {
    retry_count = 5
  }
}
