variable "project_id" {
  description = "Id of the project that everything is created in. It needs a billing account and nothing else."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project_id))
    error_message = "Write the project's id: 6 to 30 lower-case letters, digits and dashes, for example my-kesoku."
  }
}

variable "project_number" {
  description = "Number of the same project: gcloud projects describe PROJECT --format='value(projectNumber)'. Google Chat signs its tokens for it."
  type        = string

  validation {
    condition     = can(regex("^[0-9]{6,20}$", var.project_number))
    error_message = "Write the project's number, digits alone; its id is another variable."
  }
}

variable "region" {
  description = "Region of functions, buckets and schedules, for example asia-northeast1."
  type        = string

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "Write a region such as europe-west1; a zone (europe-west1-b) or a multi-region (eu) is none."
  }
}

variable "firestore_location" {
  description = "Where the database is, a region or nam5 or eur3; it can never be changed. The functions' region unless set."
  type        = string
  default     = null

  validation {
    condition     = can(regex("^([a-z]+-[a-z]+[0-9]+|nam5|nam7|eur3)$", coalesce(var.firestore_location, "nam5")))
    error_message = "Write a region such as europe-west1, or nam5, nam7 or eur3."
  }
}

variable "adopt" {
  description = "Whether the project still has the database and the staging bucket of an earlier deployment, which its end left alone."
  type        = bool
  default     = false
  nullable    = false
}

variable "runtime" {
  description = "Runtime of the functions. It must be at least the go line of go.mod."
  type        = string
  default     = "go126"

  validation {
    # Nothing before the deployment would refuse a runtime that does not exist.
    condition     = contains(["go126", "go127"], var.runtime)
    error_message = "Write go126 or go127: the module needs Go 1.26."
  }
}

variable "dist" {
  description = "Folder with the functions' bundles, <function>.zip, from the folder that terraform runs in."
  type        = string
  default     = "../dist"
  nullable    = false

  validation {
    condition     = var.dist != "" && !endswith(var.dist, "/")
    error_message = "Write a folder without a slash at its end."
  }
}

variable "sizes" {
  description = "Changes to the functions' sizes, for example { turn = { max_instances = 20 } }. Keys: memory_mib, cpu, concurrency, min_instances, max_instances."
  type        = map(map(number))
  default     = {}
  nullable    = false

  validation {
    condition     = length(setsubtract(keys(var.sizes), ["googlechat", "pipeline", "turn", "deliver", "cron", "sweep"])) == 0
    error_message = "Sizes belong to googlechat, pipeline, turn, deliver, cron and sweep; there is no other function."
  }

  validation {
    condition = alltrue([for size in values(var.sizes) :
      length(setsubtract(keys(size), ["memory_mib", "cpu", "concurrency", "min_instances", "max_instances"])) == 0
    ])
    error_message = "A size has the keys memory_mib, cpu, concurrency, min_instances and max_instances."
  }
}

variable "gemini_api_key_version" {
  description = "Version of the secret gemini-api-key that turn calls the Gemini API with. 0 means Vertex AI with turn's own identity, and no key."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.gemini_api_key_version >= 0 && floor(var.gemini_api_key_version) == var.gemini_api_key_version
    error_message = "Write 0, or the number that `gcloud secrets versions add` printed."
  }
}

variable "vertex_location" {
  description = "Location of the Vertex AI endpoint, if there is no key: global or a region."
  type        = string
  default     = "global"

  validation {
    condition     = can(regex("^(global|[a-z]+-[a-z]+[0-9]+)$", var.vertex_location))
    error_message = "Write global or a region such as us-central1."
  }
}

variable "webhook_url" {
  description = "The webhook's address as it is pasted into the Chat API's configuration, if a domain of your own stands before it."
  type        = string
  default     = null

  validation {
    condition     = can(regex("^https://[^/]+(/.*)?$", coalesce(var.webhook_url, "https://example.com")))
    error_message = "Write an absolute https URL."
  }
}

variable "chat_is_addon" {
  description = "Whether the Chat app is built as a Workspace add-on; its cards' buttons then have to name the webhook."
  type        = bool
  default     = false
  nullable    = false
}

variable "chat_app_user" {
  description = "The app's own user as Google Chat writes it in mentions (users/123…), so that another app's mention is never taken for ours. Optional."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^(users/[0-9]+)?$", var.chat_app_user))
    error_message = "Write users/ and digits, or nothing."
  }
}

variable "alert_emails" {
  description = "Addresses that alerts are sent to. Without any, alerts show on the console alone."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for a in var.alert_emails : can(regex("^[^@[:space:]]+@[^@[:space:]]+$", a))])
    error_message = "Write e-mail addresses."
  }
}

variable "billing_account" {
  description = "Billing account (000000-000000-000000) whose budget is watched. Without one there is no budget alert."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^([0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6})?$", var.billing_account))
    error_message = "Write three groups of six digits and A-F, or nothing."
  }
}

variable "monthly_budget" {
  description = "What the project may cost a month, in whole units of the billing account's currency, before somebody is told."
  type        = number
  default     = 50
  nullable    = false

  validation {
    condition     = var.monthly_budget >= 1 && floor(var.monthly_budget) == var.monthly_budget
    error_message = "Write a whole number from 1."
  }
}

variable "trace_fraction" {
  description = "Part of the conversations whose traces are kept, 0 to 1. A turn has about 20 spans; Cloud Trace keeps 2.5 million a month for free."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.trace_fraction >= 0 && var.trace_fraction <= 1
    error_message = "Write a number from 0 to 1."
  }
}

variable "labels" {
  description = "Further labels of everything that can bear them."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition = alltrue([for k, v in var.labels :
      can(regex("^[a-z][a-z0-9_-]{0,62}$", k)) && can(regex("^[a-z0-9_-]{0,63}$", v))
    ])
    error_message = "Labels are lower-case letters, digits, dashes and underscores, at most 63; keys begin with a letter."
  }
}
