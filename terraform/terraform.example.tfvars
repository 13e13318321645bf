# Copy to terraform.tfvars, which git ignores, and fill in.

project_id     = "my-kesoku"
project_number = "123456789012"
region         = "asia-northeast1"

alert_emails = ["oncall@example.com"]

# With a key of the Gemini API instead of Vertex AI: apply once, then
#   gcloud secrets versions add gemini-api-key --data-file=-
# and apply again with the version that it prints.
# gemini_api_key_version = 1

# One turn mostly waits for its model, so an instance runs several.
# sizes = { turn = { concurrency = 16, max_instances = 20 } }

# billing_account = "000000-000000-000000"
# monthly_budget  = 50
