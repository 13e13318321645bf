# What no plan and no provider would refuse, and what would fail only half-way through a deployment.

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
}

run "project_id" {
  command = plan
  variables {
    project_id = "My_Kesoku"
  }
  expect_failures = [var.project_id]
}

run "project_number" {
  command = plan
  variables {
    project_number = "my-kesoku"
  }
  expect_failures = [var.project_number]
}

run "zone_for_region" {
  command = plan
  variables {
    region = "europe-west1-b"
  }
  expect_failures = [var.region]
}

run "runtime_that_does_not_exist" {
  command = plan
  variables {
    runtime = "go1.26"
  }
  expect_failures = [var.runtime]
}

run "size_of_nobody" {
  command = plan
  variables {
    sizes = { turns = { cpu = 2 } }
  }
  expect_failures = [var.sizes]
}

run "size_with_unknown_key" {
  command = plan
  variables {
    sizes = { turn = { memory = 512 } }
  }
  expect_failures = [var.sizes]
}

run "fraction_of_a_version" {
  command = plan
  variables {
    gemini_api_key_version = 1.5
  }
  expect_failures = [var.gemini_api_key_version]
}

run "webhook_without_tls" {
  command = plan
  variables {
    webhook_url = "http://kesoku.example.com"
  }
  expect_failures = [var.webhook_url]
}

run "billing_account" {
  command = plan
  variables {
    billing_account = "billingAccounts/0A1B2C"
  }
  expect_failures = [var.billing_account]
}

run "label_in_capitals" {
  command = plan
  variables {
    labels = { Team = "chat" }
  }
  expect_failures = [var.labels]
}

run "more_than_all_traces" {
  command = plan
  variables {
    trace_fraction = 1.5
  }
  expect_failures = [var.trace_fraction]
}
