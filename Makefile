GO     ?= go
# Nothing here needs C. One library could load plugins, which makes a link go through the C linker and take twice as long.
export CGO_ENABLED := 0
# What is built does not depend on the folder: another clone finds it in Go's cache.
export GOFLAGS ?= -trimpath
# What runs the tests: .ci/run and .ci/check-all have what failed run again. Flags are -name=value, since tests/rerun does not know which of them have values.
GOTEST ?= $(GO) test
LINT   := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -ldflags "-X flotilla/core/api.Version=$(VERSION)"

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-19s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build hub, agent and flotilla into bin/
	$(GO) build $(LDFLAGS) -o bin/hub ./hub
	$(GO) build $(LDFLAGS) -o bin/agent ./agent
	$(GO) build $(LDFLAGS) -o bin/flotilla ./hub/flotilla

# For images, which hold nothing but these: no library, no shell, no time zones.
.PHONY: static
static: ## Build hub, agent and flotilla into bin/static/, linked to nothing
	GOOS=linux $(GO) build -trimpath $(LDFLAGS) -o bin/static/ ./hub ./agent ./hub/flotilla

# What builds images: docker, podman.
DOCKER := docker

.PHONY: images
images: static ## Build the images flotilla-agent and flotilla-hub, DOCKER=podman with podman
	$(DOCKER) build -f configs/kubernetes/Dockerfile --target agent -t flotilla-agent bin/static
	$(DOCKER) build -f configs/kubernetes/Dockerfile --target hub -t flotilla-hub bin/static

.PHONY: test
test: ## Run every test
	$(GOTEST) $(TESTFLAGS) ./...

.PHONY: test-alerts
test-alerts: ## Try the alerts and the board of configs/grafana with promtool, which is installed on Debian where it is missing
	@command -v promtool >/dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends prometheus >/dev/null; }
	$(GO) test -count=1 -tags promtool ./configs/grafana

# axe-core, as its lock has it; npm writes the file last.
AXE := tests/page/node_modules/.package-lock.json

$(AXE): tests/page/package-lock.json
	@command -v npm >/dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends npm >/dev/null; }
	npm ci --prefix tests/page --ignore-scripts --no-audit --no-fund

.PHONY: chromium
chromium:
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core >/dev/null; }

# What the page is tried with: PAGE="-page.members=10 -run=TestScreens" looks at the screens of a small fleet alone.
PAGE :=

.PHONY: test-page
test-page: $(AXE) chromium ## Try the hub's page in a browser, which is installed on Debian where it is missing, as npm is
	$(GO) test -count=1 -tags page -timeout 30m ./tests/page $(PAGE)
	$(GO) test -count=1 -tags page ./tests/page/browser ./tests/page/crowd

# How many looks, changes and seconds are measured.
LOOKS := 60x

.PHONY: bench-page
bench-page: $(AXE) ## Measure the hub's page over 10,000 members, for docs/benchmarks.md
	$(GO) test -tags page -run '^$$' -bench Goals -benchtime $(LOOKS) -timeout 30m ./tests/page

.PHONY: page-pictures
page-pictures: chromium ## Take the pictures of docs/page.md
	$(GO) test -count=1 -tags page -run TestPictures ./tests/page -page.pictures=$(CURDIR)/docs/page

# kubectl as two releases have it, of the modules in tests/kubectl: what is built of their code is in Go's cache from then on.
KUBECTLS := $(notdir $(wildcard tests/kubectl/v*))

.PHONY: kubectl
kubectl: $(KUBECTLS:%=bin/kubectl-%) ## Build the releases of kubectl that the Kubernetes API is tried with into bin/

bin/kubectl-%: tests/kubectl/%/go.mod tests/kubectl/%/go.sum tests/kubectl/%/main.go
	$(GO) -C tests/kubectl/$* build -ldflags "-X k8s.io/component-base/version.gitVersion=$$(sed -n 's|^\tk8s.io/kubectl v0|v1|p' $<)" -o $(CURDIR)/$@ .

.PHONY: test-kubectl
test-kubectl: kubectl ## Try kubectl on a fleet, verb by verb, with each release of it
	$(GO) test -count=1 -tags kubectl -timeout 20m ./tests/kubectl

# Moments that break programs: long ago, long from now, the end of a day that few years have, and the nights
# in which clocks change, with the machine in that zone.
MOMENTS := -400d +400d 2028-02-29T23:59:30Z \
	2027-03-28T00:59:30Z@Europe/Berlin 2027-10-31T00:59:30Z@Europe/Berlin \
	2027-03-14T06:59:30Z@America/New_York 2027-11-07T05:59:30Z@America/New_York
# That which every change is held against, under the race detector.
MOMENT_SHORT := 2028-02-29T23:59:30Z@America/New_York
# Whoever reads a clock imports that of tests; the linter sees to it. None of the core does.
CLOCKED = $$($(GO) list -test -f '{{.ImportPath}} {{join .Deps " "}}' ./... | sed -n 's|^\([^ ]*\)\.test .*flotilla/tests/elsewhen.*|\1|p')

# How many moments are tried at once: their tests wait more than they work.
ABREAST := 4

.PHONY: test-elsewhen
test-elsewhen: ## Run the tests that read a clock at other moments, or at those of MOMENTS="...", ABREAST=4 at once
	@GOTEST="$(GOTEST)" MOMENTS="$(MOMENTS)" ABREAST="$(ABREAST)" .ci/elsewhen $(CLOCKED)

.PHONY: test-elsewhen-short
test-elsewhen-short: ## Run what runs concurrently under the race detector, at one other moment
	FLOTILLA_ELSEWHEN=$(MOMENT_SHORT) $(MAKE) --no-print-directory race

# The core starts no goroutine: of it only the fleet, on which many decide at once, could race.
.PHONY: race
race: ## Run the tests of agent, bus, hub and what decisions share under the race detector
	CGO_ENABLED=1 $(GOTEST) -race -count=1 -p=3 -timeout=20m ./core/schedule ./agent/... ./bus/... ./hub/...

# Recorded decisions are the core's; documents, the command line, the demo and campaigns of faults run programs, which are built
# without the detector; and what is measured is not measured under it.
UNRACED := ./tests ./tests/cli ./tests/conformance ./tests/demo ./tests/faults ./tests/scale

.PHONY: race-tests
race-tests: ## Run the tests of whole fleets under the race detector
	CGO_ENABLED=1 $(GOTEST) -race -count=1 -p=2 -timeout=30m $$($(GO) list ./tests/... | grep -v $(UNRACED:.%=-e '^flotilla%$$'))

.PHONY: check-all
check-all: ## Run what .ci/run has no time for, ONLY="race-tests page" some of it; hours
	@ONLY="$(ONLY)" .ci/check-all

# Packages are run ROUNDS times beside LOAD busy threads.
ROUNDS   := 3
LOAD     := 8
PACKAGES := ./...

.PHONY: flakes
flakes: ## Find tests that fail now and then: ROUNDS=3 runs of PACKAGES=./... beside LOAD=8
	$(GO) run ./tests/flakes -rounds=$(ROUNDS) -load=$(LOAD) $(PACKAGES)

# How long each target is fuzzed. What breaks one is written beside it, testdata/fuzz, and read by every test run
# from then on: keep it.
FUZZTIME := 30s

.PHONY: fuzz
fuzz: ## Fuzz every reader of foreign bytes, FUZZTIME=30s each
	@.ci/fuzz $(FUZZTIME)

# Which faults are planted in the core; docs/testing.md says more.
SEED := 1

.PHONY: mutants
mutants: ## Plant 200 faults in the core, and see that its tests catch them; SEED=1 says which
	$(GO) run ./tests/mutants -seed $(SEED)

# Campaigns against fleets of real processes; docs/faults.md says what they do, and how one is repeated. Run in their own
# folder they print each campaign as it ends, and the table at the end also where all held.
RUNS := 200
SOAK := 8h

.PHONY: faults
faults: ## Break fleets of real processes in RUNS=200 short campaigns, and check what everybody saw
	$(GO) -C tests/faults test -count=1 -run TestCampaign -faults.runs=$(RUNS) -parallel 4 -timeout 2h

.PHONY: soak
soak: ## Break fleets of real processes for SOAK=8h
	$(GO) -C tests/faults test -count=1 -run TestCampaign -faults.soak=$(SOAK) -faults.for=20s -timeout 0 -v

# The control plane of tests/e2e/kube is built once, about 6 minutes on two cores, and kept in the user's cache folder;
# docs/testing.md says more.
.PHONY: e2e-build
e2e-build: ## Build the Kubernetes control plane of the tests, unless it is there
	@$(GO) run ./tests/e2e/up build

# Tests wait for clusters more than they work, so there are more of them at once than processors.
.PHONY: e2e
e2e: e2e-build ## Run the tests against three real Kubernetes clusters
	$(GOTEST) -tags=e2e -count=1 -parallel=8 -timeout=25m ./tests/e2e/...

# The cases that break first, all on one cluster.
SMOKE := ^(TestADeploymentBecomesAvailable|TestObjects|TestNodesOfARealCluster)$$/^(alone|at_once|hub_away)$$/^(taken-over|field-conflict|fought|reported|pruned|abandoned|own-kind|refused|quota|left|large)$$

.PHONY: e2e-smoke
e2e-smoke: e2e-build ## Run the tests that break first against one real Kubernetes cluster
	$(GOTEST) -tags=e2e -count=1 -parallel=8 -timeout=15m '-run=$(SMOKE)' ./tests/e2e -e2e.clusters=1

.PHONY: bench-e2e
bench-e2e: e2e-build ## Measure agents beside real Kubernetes clusters, for docs/benchmarks.md
	$(GO) test -tags e2e -count=1 -timeout 25m -run '^$$' -bench IdleAgent -benchtime 1x ./tests/e2e
	$(GO) test -tags e2e -count=1 -timeout 25m -run '^$$' -bench ImageChange -benchtime 20x ./tests/e2e

.PHONY: e2e-drivers
e2e-drivers: e2e-build ## Run what makes machines and upgrades members against the real thing: Karpenter, Cluster API
	$(GO) test -tags e2e,drivers -count=1 -timeout 60m -run 'TestKarpenter|TestClusterAPI' ./tests/e2e

.PHONY: e2e-up
e2e-up: ## Leave a hub and agents running beside three real Kubernetes clusters, and say what to type
	@$(GO) run ./tests/e2e/up

.PHONY: e2e-clusters
e2e-clusters: ## Leave three real Kubernetes clusters running, and say how to reach them
	@$(GO) run ./tests/e2e/up clusters

.PHONY: size
size: ## Count tokens, lines, functions and packages of what is built
	$(GO) run ./tests/size

# What is measured, and how it is read: docs/benchmarks.md. SCALE=0.1 has a tenth of the members and placements of each scenario,
# MEMBERS=200 at most so many members, ONLY=idle,churn only those.
SCALE   := 1
MEMBERS := 0
ONLY    :=

.PHONY: bench-fleet
bench-fleet: RUNS := 1
bench-fleet: ## Measure fleets of a thousand agents in RUNS=1 passes, and write docs/bench/
	$(GO) run $(LDFLAGS) ./tests/scale -runs $(RUNS) -scale $(SCALE) -members $(MEMBERS) -only "$(ONLY)" -out docs/bench

.PHONY: bench-fleet-short
bench-fleet-short: ## Measure a tenth of each fleet, and write nothing
	$(GO) run $(LDFLAGS) ./tests/scale -scale 0.1

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

.PHONY: demo-rollouts
demo-rollouts: ## Steer rollouts on a fleet of eight members: overrides, an undo, stages, a roll-back, a drained member, a held withdrawal
	$(GO) run ./tests/demo --rollouts

.PHONY: bench
bench: ## Run the benchmarks of docs/benchmarks.md
	$(GO) test -run '^$$' -bench . -benchmem ./core/...
