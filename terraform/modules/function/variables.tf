variable "name" {
  description = "Name of the function: its entry point, its bundle, its Cloud Run service and, behind kesoku-, its service account."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,19}$", var.name))
    error_message = "Write 3 to 20 lower-case letters, digits and dashes; with kesoku- before it this names a service account of at most 30."
  }
}

variable "description" {
  description = "What it does, for the console."
  type        = string
}

variable "platform" {
  description = "What all functions share; the root module's local.platform."
  type = object({
    project_id     = string
    region         = string
    runtime        = string
    dist           = string
    builder        = string
    invoker        = string
    pubsub_agent   = string
    source_bucket  = string
    staging_bucket = string
    database       = string
    trace_fraction = number
  })
}

variable "size" {
  description = "Memory in MiB, CPUs, requests at the same time in one instance, and how many instances there are at least and at most."
  type = object({
    memory_mib    = number
    cpu           = number
    concurrency   = number
    min_instances = number
    max_instances = number
  })

  # None of these is checked before the deployment fails on it.
  validation {
    condition     = var.size.concurrency == 1 || var.size.cpu >= 1
    error_message = "Concurrency above 1 needs at least 1 CPU."
  }

  validation {
    condition     = contains([1, 2, 4, 6, 8], var.size.cpu) || (var.size.cpu >= 0.08 && var.size.cpu < 1)
    error_message = "CPUs are 0.08 up to below 1, or 1, 2, 4, 6 or 8."
  }

  validation {
    condition = (var.size.memory_mib >= (var.size.cpu > 4 ? 4096 : var.size.cpu > 2 ? 2048 : 128) &&
    var.size.memory_mib <= (var.size.cpu >= 1 ? 4096 * var.size.cpu : var.size.cpu >= 0.5 ? 1024 : 512))
    error_message = "Memory does not go with that many CPUs: up to 512 MiB below half a CPU, 1 GiB below one, 4 GiB a CPU; 4 CPUs need 2 GiB, more need 4."
  }

  validation {
    condition     = var.size.concurrency >= 1 && var.size.concurrency <= 1000
    error_message = "Concurrency is 1 to 1000."
  }

  validation {
    condition     = var.size.min_instances >= 0 && var.size.max_instances >= 1 && var.size.min_instances <= var.size.max_instances
    error_message = "Instances: at least 0, at most 1 or more, and the least not above the most."
  }
}

variable "timeout_seconds" {
  description = "When a request is cut off. Behind a topic it must end before the ack deadline, or a second copy runs beside the first."
  type        = number

  validation {
    condition     = var.timeout_seconds >= 1 && var.timeout_seconds < var.ack_deadline_seconds
    error_message = "A function ends before the ack deadline of its wake-up."
  }
}

variable "ingress" {
  description = "Who may reach it: ALLOW_ALL for webhooks, ALLOW_INTERNAL_ONLY for all else. Pub/Sub of the same project is internal."
  type        = string
  default     = "ALLOW_INTERNAL_ONLY"

  validation {
    condition     = contains(["ALLOW_ALL", "ALLOW_INTERNAL_ONLY"], var.ingress)
    error_message = "Write ALLOW_ALL or ALLOW_INTERNAL_ONLY."
  }
}

variable "environment" {
  description = "Environment variables of its own. Empty ones are left out."
  type        = map(string)
  default     = {}
}

variable "secrets" {
  description = "Environment variables that come from Secret Manager: the secret's id and the version, pinned so that a deployment says which."
  type        = map(object({ secret = string, version = string }))
  default     = {}
}

variable "publishes" {
  description = "Names of the topics that it publishes to."
  type        = list(string)
  default     = []
}

variable "project_roles" {
  description = "What it may do in the whole project: only what no smaller resource can be given for."
  type        = list(string)
  default     = []
}

variable "staging_roles" {
  description = "What it may do in the staging bucket."
  type        = list(string)
  default     = []
}

variable "subscription" {
  description = "Ids of the topic that wakes it and of that topic's dead letters; null for a webhook."
  type        = object({ topic = string, dead_letters = string })
  default     = null
}

variable "ack_deadline_seconds" {
  description = "How long Pub/Sub waits for an answer before it sends the wake-up again."
  type        = number
  default     = 600

  validation {
    condition     = var.ack_deadline_seconds >= 10 && var.ack_deadline_seconds <= 600
    error_message = "An ack deadline is 10 to 600 seconds."
  }
}

variable "max_delivery_attempts" {
  description = "After how many attempts a wake-up is a dead letter. With 10 to 600 s between them, waiting for another's lease never makes one."
  type        = number
  default     = 20

  validation {
    condition     = var.max_delivery_attempts >= 5 && var.max_delivery_attempts <= 100
    error_message = "Pub/Sub takes 5 to 100 attempts."
  }
}
