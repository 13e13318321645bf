# Everything a person or a machine does with this repository. `make` alone lists the targets.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS   += --no-builtin-rules --no-print-directory

# Tools are built into a folder of the clone, so that nothing on the machine changes and versions are the repository's own.
BIN              := $(CURDIR)/.bin
GOLANGCI_VERSION := v2.12.2
GOLANGCI         := $(BIN)/golangci-lint-$(GOLANGCI_VERSION)

STACK  := ./emulators/stack/cmd/kesoku-local
# What make run runs, for a shell: written by it, removed at its end.
LOCAL_ENV := $(BIN)/local.env
PKG    ?= ./...
SEEDS  ?= 500

# Version stamping fails in clones that belong to another user, as in containers, and nothing here needs it.
export GOFLAGS ?= -buildvcs=false

# The chromium that the page's tests drive.
CHROMIUM := /usr/bin/chromium

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

# --- run -------------------------------------------------------------------------------------------------------------------

.PHONY: run
run: $(BIN)/kesoku-local ## start the whole local stack: emulators, functions, a chat page
	@mkdir -p $(BIN)
	$(BIN)/kesoku-local run -env $(LOCAL_ENV)

.PHONY: demo
demo: $(BIN)/kesoku-local ## play a short conversation through the local stack and show what happens
	$(BIN)/kesoku-local demo

# These two operate what make run runs in another terminal; for a deployment use go run ./infra/kesoku with its own environment.
OPERATE = if [[ ! -e $(LOCAL_ENV) ]]; then echo 'nothing runs here: say make run in another terminal' >&2; exit 1; fi; \
	set -a; source $(LOCAL_ENV); set +a; $(BIN)/kesoku

.PHONY: doctor
doctor: $(BIN)/kesoku ## examine, step by step, what make run runs
	@$(OPERATE) doctor $(ARGS)

.PHONY: kesoku
kesoku: $(BIN)/kesoku ## operate what make run runs: ARGS="sessions"; ARGS="--help" lists the commands
	@$(OPERATE) $(ARGS)

.PHONY: bench
bench: $(BIN)/kesoku-bench ## measure the local stack (times are reported, never asserted); ARGS="-quick" for seconds
	$(BIN)/kesoku-bench $(ARGS)

# --- test ------------------------------------------------------------------------------------------------------------------

# Programs are built rather than run by `go run`, which hides exit codes and does not pass on a termination signal.
.PHONY: test
test: setup $(BIN)/with ## run all tests over the real emulators; PKG=./shared/... for a part
	$(BIN)/with -- go test -race -shuffle=on -count=1 -timeout 20m $(PKG)

.PHONY: test-faults
test-faults: $(BIN)/with ## play SEEDS=500 conversations while everything is killed, doubled, delayed and refused
	$(BIN)/with -- go test -count=1 -timeout 60m -run '^TestFaults$$' ./emulators/e2e -seeds=$(SEEDS)

.PHONY: setup
setup: # what tests need beside Go; Java and the emulators name their own packages when they are missing
	@command -v $${CC:-cc} >/dev/null || { echo 'setup: the race detector needs a C compiler: apt-get install gcc libc6-dev' >&2; exit 1; }
	@if [[ -x $(CHROMIUM) ]]; then exit 0; fi; \
	if [[ $$(id -u) -eq 0 && -e /etc/debian_version ]]; then \
		echo 'setup: installing chromium, which the tests of the chat page drive'; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium >/dev/null; } || \
			{ echo 'setup: apt-get install chromium failed, and the tests of the chat page need it' >&2; exit 1; }; \
	else \
		echo 'setup: $(CHROMIUM) is missing, so the tests of the chat page will fail; on Debian: sudo apt-get install chromium' >&2; \
	fi

# --- deploy ----------------------------------------------------------------------------------------------------------------

.PHONY: package
package: ## write dist/<function>.zip for every function, build and start each as the platform does, print size and start time
	@go run ./infra/bundle/cmd/kesoku-bundle -prove

# --- check -----------------------------------------------------------------------------------------------------------------

.PHONY: check
check: check-format check-vet check-modules check-generated check-arch lint ## everything but the tests: format, vet, lint, modules, generated files, architecture

.PHONY: check-format
check-format:
	@echo 'check: gofmt'
	@unformatted=$$(find . -name '*.go' -not -path './.bin/*' -not -path '*/testdata/*' -print0 | xargs -0 gofmt -l); \
	if [[ -n $$unformatted ]]; then printf 'not formatted (run make fmt):\n%s\n' "$$unformatted" >&2; exit 1; fi

.PHONY: check-vet
check-vet:
	@echo 'check: go vet'
	@go vet ./...

.PHONY: check-modules
check-modules:
	@echo 'check: go.mod and go.sum are tidy'
	@go mod tidy -diff || { echo 'not tidy (run go mod tidy)' >&2; exit 1; }

# State of all files that git knows or would take, for comparing before and after.
FINGERPRINT := git ls-files -z --cached --others --exclude-standard | xargs -0 sha256sum 2>/dev/null | sha256sum

.PHONY: check-generated
check-generated:
	@echo 'check: generated files are current'
	@before=$$($(FINGERPRINT) || true); go generate ./...; after=$$($(FINGERPRINT) || true); \
	if [[ $$before != "$$after" ]]; then echo 'generated files were stale and have been written anew: look at git diff, commit them' >&2; exit 1; fi

.PHONY: check-arch
check-arch:
	@echo 'check: architecture'
	@go test -count=1 ./shared/archtest

# The cache is the clone's own: a shared one reports issues at another clone's paths.
.PHONY: lint
lint: $(GOLANGCI) ## run golangci-lint
	@echo 'check: golangci-lint $(GOLANGCI_VERSION)'
	@GOLANGCI_LINT_CACHE=$(BIN)/lint-cache $(GOLANGCI) run $(PKG)

.PHONY: fmt
fmt: ## format all Go files
	@find . -name '*.go' -not -path './.bin/*' -not -path '*/testdata/*' -print0 | xargs -0 gofmt -w

.PHONY: clean
clean: ## remove what was built here
	rm -rf $(BIN) dist

# --- tools -----------------------------------------------------------------------------------------------------------------

$(GOLANGCI):
	@echo 'building golangci-lint $(GOLANGCI_VERSION) into .bin (once, about 3 minutes on two cores)'
	@GOBIN=$(BIN)/new go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv $(BIN)/new/golangci-lint $@ && rmdir $(BIN)/new

# Go's build cache knows best whether these are current.
.PHONY: $(BIN)/with $(BIN)/kesoku $(BIN)/kesoku-local $(BIN)/kesoku-bench
$(BIN)/with:
	@go build -o $@ ./emulators/with
$(BIN)/kesoku:
	@go build -o $@ ./infra/kesoku
$(BIN)/kesoku-local:
	@go build -o $@ $(STACK)
$(BIN)/kesoku-bench:
	@go build -o $@ ./emulators/bench/cmd/kesoku-bench
