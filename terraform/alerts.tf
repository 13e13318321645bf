# What a person is told, and by what it is measured. Queries are PromQL, since it can be applied before a project has any data; a filter on a
# metric that was never written is refused.

locals {
  # Log entries that are counted, by messages that the code logs or by how bad they are.
  log_metrics = {
    kesoku_sweeps         = { what = "Sweeps that ran to their end", filter = "jsonPayload.message=\"swept\"" }
    kesoku_events         = { what = "Events taken by webhooks", filter = "jsonPayload.message=\"event taken\"" }
    kesoku_turns_finished = { what = "Turns that ended with a reply", filter = "jsonPayload.message=\"turn finished\"" }
    kesoku_turns_failed   = { what = "Turns that ended with a crash notice", filter = "jsonPayload.message=\"turn failed\"" }
    kesoku_nacked         = { what = "Wake-ups given back, to come again", filter = "jsonPayload.message=\"nacked: comes again\"" }
    kesoku_buried         = { what = "Wake-ups that no retry can help", filter = "jsonPayload.message=\"buried: no retry can help\"" }
    kesoku_errors         = { what = "Log entries of severity ERROR and above", filter = "severity>=ERROR" }
  }

  # One row an alert: what is wrong, when, for how long it must stay so, and how bad it is. infra/playbooks/<name>.md says what to do.
  alerts = {
    dead-letters = {
      what     = "Wake-ups went to a dead-letter topic"
      query    = "max by (subscription_id) (pubsub_googleapis_com:subscription_num_undelivered_messages{subscription_id=~\".+-dead\"}) > 0"
      hold     = "0s"
      severity = "CRITICAL"
    }
    buried = {
      what     = "A wake-up was buried: no retry can help it"
      query    = "sum by (function) (increase(logging_googleapis_com:user_kesoku_buried{monitored_resource=\"cloud_run_revision\"}[10m])) > 0"
      hold     = "0s"
      severity = "ERROR"
    }
    backlog = {
      # Waiting out a dead holder's lease takes minutes; a quarter of an hour means that nobody gets through.
      what     = "The oldest wake-up waits for more than 15 minutes"
      query    = "max by (subscription_id) (pubsub_googleapis_com:subscription_oldest_unacked_message_age{subscription_id!~\".+-dead\"}) > 900"
      hold     = "120s"
      severity = "CRITICAL"
    }
    no-sweep = {
      what     = "No sweep has ended for 5 minutes"
      query    = "(sum(increase(logging_googleapis_com:user_kesoku_sweeps{monitored_resource=\"cloud_run_revision\"}[5m])) or vector(0)) < 1"
      hold     = "60s"
      severity = "CRITICAL"
    }
    errors = {
      what     = "More than 5 errors in 10 minutes"
      query    = "sum by (function) (increase(logging_googleapis_com:user_kesoku_errors{monitored_resource=\"cloud_run_revision\"}[10m])) > 5"
      hold     = "0s"
      severity = "ERROR"
    }
    webhook-failures = {
      what     = "The webhook answered 5xx"
      query    = "sum(increase(run_googleapis_com:request_count{monitored_resource=\"cloud_run_revision\",service_name=\"googlechat\",response_code_class=\"5xx\"}[10m])) > 2"
      hold     = "0s"
      severity = "ERROR"
    }
    turn-latency = {
      # In milliseconds: half of what a turn has before its checkpoint.
      what     = "One turn in twenty takes longer than 4 minutes"
      query    = "histogram_quantile(0.95, sum by (le) (rate(run_googleapis_com:request_latencies_bucket{monitored_resource=\"cloud_run_revision\",service_name=\"turn\"}[15m]))) > 240000"
      hold     = "900s"
      severity = "WARNING"
    }
  }
}

resource "google_logging_metric" "count" {
  for_each = local.log_metrics

  name        = each.key
  description = each.value.what
  filter      = "resource.type=\"cloud_run_revision\" AND jsonPayload.function:* AND ${each.value.filter}"

  metric_descriptor {
    display_name = each.value.what
    metric_kind  = "DELTA"
    value_type   = "INT64"

    labels {
      key        = "function"
      value_type = "STRING"
    }
  }

  label_extractors = {
    function = "EXTRACT(jsonPayload.function)"
  }

  depends_on = [google_project_service.api]
}

resource "google_monitoring_notification_channel" "email" {
  for_each = var.alert_emails

  display_name = "Kesoku: ${each.key}"
  type         = "email"
  labels       = { email_address = each.key }
  depends_on   = [google_project_service.api]

  # A channel goes after the alerts have let go of it: before, Monitoring refuses.
  lifecycle {
    create_before_destroy = true
  }
}

resource "google_monitoring_alert_policy" "alert" {
  for_each = local.alerts

  display_name          = "Kesoku: ${each.key}"
  combiner              = "OR"
  severity              = each.value.severity
  notification_channels = [for c in google_monitoring_notification_channel.email : c.name]

  conditions {
    display_name = each.value.what

    condition_prometheus_query_language {
      query               = each.value.query
      duration            = each.value.hold
      evaluation_interval = "60s"
      # A counter of log entries is known minutes after it is made.
      disable_metric_validation = true
    }
  }

  documentation {
    subject   = "Kesoku: ${each.value.what}"
    content   = file("${path.module}/../infra/playbooks/${each.key}.md")
    mime_type = "text/markdown"
  }

  alert_strategy {
    auto_close = "86400s"
  }

  depends_on = [google_project_service.api, google_logging_metric.count]
}

resource "google_monitoring_dashboard" "kesoku" {
  dashboard_json = file("${path.module}/../infra/dashboards/kesoku.json")
  depends_on     = [google_project_service.api, google_logging_metric.count]
}

# A budget belongs to the billing account. Its API refuses a person's own credentials unless it is told by which project they call.
provider "google" {
  alias                 = "budget"
  billing_project       = var.project_id
  user_project_override = true
}

# Whoever applies this needs the role roles/billing.costsManager on the billing account. infra/playbooks/budget.md says what to do.
resource "google_billing_budget" "monthly" {
  count    = var.billing_account == "" ? 0 : 1
  provider = google.budget

  billing_account = var.billing_account
  display_name    = "Kesoku"

  budget_filter {
    projects = ["projects/${var.project_number}"]
  }

  amount {
    specified_amount {
      units = tostring(var.monthly_budget)
    }
  }

  threshold_rules {
    threshold_percent = 0.5
  }

  threshold_rules {
    threshold_percent = 1
  }

  # Without addresses, whoever administers the billing account is told, as by default.
  dynamic "all_updates_rule" {
    for_each = length(var.alert_emails) > 0 ? [true] : []
    content {
      monitoring_notification_channels = [for c in google_monitoring_notification_channel.email : c.id]
    }
  }

  depends_on = [google_project_service.api]
}
