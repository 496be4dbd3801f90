GO     ?= go
LINT   := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -ldflags "-X flotilla/core/api.Version=$(VERSION)"

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build hub, agent and flotilla into bin/
	$(GO) build $(LDFLAGS) -o bin/hub ./hub
	$(GO) build $(LDFLAGS) -o bin/agent ./agent
	$(GO) build $(LDFLAGS) -o bin/flotilla ./hub/flotilla

.PHONY: test
test: ## Run every test
	$(GO) test ./...

# The core starts no goroutine, so it cannot race.
.PHONY: race
race: ## Run the tests of all that runs concurrently under the race detector, one package after another
	$(GO) test -race -p 1 $$($(GO) list ./... | grep -v '^flotilla/core')

.PHONY: lint
lint: ## Run the linters
	$(LINT) run ./...

.PHONY: generate
generate: ## Write the generated documents anew
	$(GO) generate ./...

.PHONY: verify
verify: ## Check that generated documents, formatting and modules are current
	$(GO) generate ./...
	$(LINT) fmt --diff
	$(GO) mod tidy -diff
	git diff --exit-code

.PHONY: demo
demo: ## Run a fleet of eight members through its paces
	$(GO) run ./tests/demo

.PHONY: bench
bench: ## Run the benchmarks of docs/benchmarks.md
	$(GO) test -run '^$$' -bench . -benchmem ./core/...
