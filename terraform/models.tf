# How functions that ask models reach their provider: with a key from Secret Manager, or without one as themselves through Vertex AI.

locals {
  gemini_by_key = var.gemini_api_key_version > 0
}
