# The database. Indexes, exemptions and TTL stand in infra/firestore/firestore.indexes.json, in the Firebase tools' own format.
#
# Exempted is what no query looks for and what costs: long texts and deep maps, of which every value would be an index entry, and times,
# whose ever-growing indexes hold all writers of a collection to 500 a second. wake_at is queried by its composite index alone, behind
# its shard.

locals {
  firestore = jsondecode(file("${path.module}/../infra/firestore/firestore.indexes.json"))
}

resource "google_firestore_database" "default" {
  # The store opens the default database.
  name                              = "(default)"
  location_id                       = coalesce(var.firestore_location, var.region)
  type                              = "FIRESTORE_NATIVE"
  concurrency_mode                  = "OPTIMISTIC"
  app_engine_integration_mode       = "DISABLED"
  point_in_time_recovery_enablement = "POINT_IN_TIME_RECOVERY_ENABLED"
  # Conversations outlive any `terraform destroy`: it forgets the database, of which only indexes, TTL and the backup schedule go. To deploy to
  # the same project again: terraform apply -var=adopt=true.
  delete_protection_state = "DELETE_PROTECTION_ENABLED"
  deletion_policy         = "ABANDON"

  depends_on = [google_project_service.api]
}

import {
  for_each = toset(var.adopt ? ["projects/${var.project_id}/databases/(default)"] : [])
  to       = google_firestore_database.default
  id       = each.key
}

# Point-in-time recovery reaches back 7 days and dies with the database; backups do not.
resource "google_firestore_backup_schedule" "daily" {
  database  = google_firestore_database.default.name
  retention = "2592000s"

  daily_recurrence {}
}

resource "google_firestore_index" "composite" {
  for_each = { for i in local.firestore.indexes : join(".", concat([i.collectionGroup], [for f in i.fields : f.fieldPath])) => i }

  database    = google_firestore_database.default.name
  collection  = each.value.collectionGroup
  query_scope = each.value.queryScope

  dynamic "fields" {
    for_each = each.value.fields
    content {
      field_path = fields.value.fieldPath
      order      = fields.value.order
    }
  }

  # Functions wait for indexes, since a query without its index fails; and what only old code asks for goes once that is gone.
  lifecycle {
    create_before_destroy = true
  }
}

resource "google_firestore_field" "override" {
  for_each = { for f in local.firestore.fieldOverrides : "${f.collectionGroup}.${f.fieldPath}" => f }

  database   = google_firestore_database.default.name
  collection = each.value.collectionGroup
  field      = each.value.fieldPath

  # An empty block takes the field out of all automatic indexes.
  index_config {
    dynamic "indexes" {
      for_each = each.value.indexes
      content {
        order       = indexes.value.order
        query_scope = indexes.value.queryScope
      }
    }
  }

  dynamic "ttl_config" {
    for_each = try(each.value.ttl, false) ? [true] : []
    content {}
  }
}
