output "name" {
  description = "The function's name, which is its Cloud Run service's too."
  value       = google_cloudfunctions2_function.this.name
}

output "url" {
  description = "Its address at cloudfunctions.net."
  value       = google_cloudfunctions2_function.this.url
}

output "member" {
  description = "Its service account, as IAM policies write it."
  value       = google_service_account.this.member
}

output "project_roles" {
  description = "Roles that it has on the whole project, its database's aside."
  value       = [for m in google_project_iam_member.project : m.role]
}
