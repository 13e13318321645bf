# Finds what was left behind and wakes it again, every minute.

module "sweep" {
  source = "./modules/function"

  name        = "sweep"
  description = "Wakes what was left behind"
  platform    = local.platform
  # One at a time: the next sweep comes anyway, and two find the same.
  size            = merge({ memory_mib = 256, cpu = 0.5, concurrency = 1, min_instances = 0, max_instances = 1 }, lookup(var.sizes, "sweep", {}))
  timeout_seconds = 300

  environment = {
    WORKSPACE_EVENTS_TOPIC = google_pubsub_topic.workspace_events.id
  }

  subscription = {
    topic        = google_pubsub_topic.wake["sweeps"].id
    dead_letters = google_pubsub_topic.dead["sweeps"].id
  }

  publishes = [
    google_pubsub_topic.wake["inbound"].name, google_pubsub_topic.wake["turns"].name, google_pubsub_topic.wake["deliveries"].name,
  ]
  depends_on = [google_project_iam_member.builder, google_project_iam_member.builder_source, google_firestore_index.composite]
}

resource "google_cloud_scheduler_job" "sweep" {
  name      = "sweep"
  region    = var.region
  schedule  = "* * * * *"
  time_zone = "Etc/UTC"

  pubsub_target {
    topic_name = google_pubsub_topic.wake["sweeps"].id
    data       = base64encode("{}")
  }
}
