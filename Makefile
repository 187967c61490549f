# Everything runs on the project's own Node 24, an npm package: the machine's Node only has to run npm (20 or newer).
BIN := $(CURDIR)/node_modules/.bin
NODE := $(BIN)/node
export PATH := $(BIN):$(PATH)
# What Node has compiled once: each of our processes starts in half the time.
export NODE_COMPILE_CACHE ?= $(CURDIR)/.local/compiled

JEST := $(NODE) --experimental-vm-modules --disable-warning=ExperimentalWarning node_modules/jest/bin/jest.js
INSTALLED := node_modules/.installed

.DEFAULT_GOAL := help
.PHONY: help install run test test-lanes soak-lanes soak-operator check bench fuzz clean chart-files images e2e kind-up kind-down kind-load release restart port-forward

help: ## This list
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

install: $(INSTALLED) ## Bring the npm packages, Node 24 and Postgres among them (instant when nothing changed)

$(INSTALLED): package.json package-lock.json test/support/finish-install.sh
	npm ci --no-audit --no-fund --loglevel=error
	@sh test/support/finish-install.sh
	@touch $@

# The launcher stops with make, also when make is killed by a signal that it does not pass on.
run: export STOP_WITH_PARENT := 1
run: $(INSTALLED) ## Start the whole service here; Ctrl-C stops it. PORT=8081 make run: another port
	@$(NODE) cmd/standalone/main.ts

test: $(INSTALLED) ## Run all tests. ARGS='--testPathPatterns pkg/credits': some of them
	@$(NODE) test/support/provision.ts
	@$(JEST) $(ARGS)

test-lanes: $(INSTALLED) ## Capture the by-hand examples: Gradio, Streamlit, mkdocs-material and Sphinx from PyPI (1 GB, once)
	@$(NODE) test/support/provision.ts
	@$(JEST) --config jest.lanes.config.mjs $(ARGS)

soak-lanes: export LEAK_CAPTURES := 500
soak-lanes: $(INSTALLED) ## 500 captures with errors, hangs and crashes among them: nothing may leak (make test takes 60)
	@$(NODE) test/support/provision.ts
	@$(JEST) --selectProjects integration --testPathPatterns faults/leaks

check: $(INSTALLED) ## Types, lint, format, dependency rules, dead code, names
	$(BIN)/tsc --noEmit -p .
	$(BIN)/tsc --noEmit -p pkg/capture/page
	$(BIN)/eslint --max-warnings 0 .
	$(BIN)/prettier --check --log-level warn .
	$(BIN)/depcruise --config .dependency-cruiser.cjs cmd pkg test
	$(BIN)/knip
	$(NODE) test/support/check-names.mjs
	$(NODE) test/support/chart-files.ts --check
	$(NODE) test/support/check-chart.ts

chart-files: $(INSTALLED) ## Write what is made from something else: copies in the chart, docs/helm-values.md
	$(NODE) test/support/chart-files.ts

bench: $(INSTALLED) ## Measure how many searches a second go through
	@$(NODE) test/support/provision.ts
	@$(NODE) test/bench/main.ts

soak-operator: $(INSTALLED) ## Ten minutes of the operator's control loop while its network and its API server break at random
	@$(NODE) --expose-gc test/operator/severing/soak.ts $(MINUTES)

fuzz: $(INSTALLED) ## Throw made-up requests at the running API, from its own OpenAPI document (schemathesis)
	@$(NODE) test/support/provision.ts
	@$(NODE) test/fuzz/main.ts $(ARGS)

# How an image is built from this folder: `$(IMAGE_BUILD) NAME . --target T`, and what it is called.
IMAGE_BUILD ?= docker build -t
SERVICE_IMAGE ?= docker.io/library/search-capture-service
LANE_IMAGE ?= docker.io/library/search-capture-lane
TAG ?= dev
HELM ?= helm
KIND ?= kind
KIND_CLUSTER ?= search-capture
NAMESPACE ?= search-capture
IMAGE_VALUES := --set image.repository=$(SERVICE_IMAGE),image.tag=$(TAG),laneImage.repository=$(LANE_IMAGE),laneImage.tag=$(TAG)

images: ## Build both images. IMAGE_BUILD, SERVICE_IMAGE, LANE_IMAGE and TAG say how and as what
	$(IMAGE_BUILD) $(SERVICE_IMAGE):$(TAG) . --target service
	$(IMAGE_BUILD) $(LANE_IMAGE):$(TAG) . --target lane

e2e: $(INSTALLED) ## Install the chart on the cluster of KUBECONFIG and prove that it works, also when things die
	@SERVICE_IMAGE=$(SERVICE_IMAGE) LANE_IMAGE=$(LANE_IMAGE) TAG=$(TAG) $(JEST) --config jest.e2e.config.mjs --runInBand $(ARGS)

kind-up: $(INSTALLED) ## A kind cluster with the service, simulated engines and a first search (needs Docker, kind, kubectl, helm)
	$(KIND) get clusters | grep -qx $(KIND_CLUSTER) || $(KIND) create cluster --name $(KIND_CLUSTER) --config config/kind.yaml
	$(MAKE) images kind-load release
	@$(NODE) test/support/first-search.ts $(NAMESPACE)

kind-load:
	$(KIND) load docker-image --name $(KIND_CLUSTER) $(SERVICE_IMAGE):$(TAG) $(LANE_IMAGE):$(TAG)

release: ## Install or upgrade the chart with simulated engines in NAMESPACE
	$(HELM) upgrade --install search-capture charts/search-capture --namespace $(NAMESPACE) --create-namespace \
	  --set demo.enabled=true $(IMAGE_VALUES) --wait --timeout 5m

# Images of the same name as before: only new pods run them.
restart:
	kubectl --namespace $(NAMESPACE) rollout restart deployment --selector app.kubernetes.io/part-of=search-capture
	kubectl --namespace $(NAMESPACE) delete pod --selector app.kubernetes.io/component=lane --wait=false
	kubectl --namespace $(NAMESPACE) rollout status deployment --selector app.kubernetes.io/part-of=search-capture --timeout=3m

port-forward: ## The API of the release at http://127.0.0.1:8080
	kubectl --namespace $(NAMESPACE) port-forward svc/search-capture-api 8080:80

kind-down: ## Delete the cluster of kind-up, with everything in it
	$(KIND) delete cluster --name $(KIND_CLUSTER)

clean: ## Delete what make run and make test have left: data, logs, keys
	rm -rf .local coverage
