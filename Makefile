# Everything runs on the project's own Node 24, an npm package: the machine's Node only has to run npm (20 or newer).
BIN := $(CURDIR)/node_modules/.bin
NODE := $(BIN)/node
export PATH := $(BIN):$(PATH)

JEST := $(NODE) --experimental-vm-modules --disable-warning=ExperimentalWarning node_modules/jest/bin/jest.js
INSTALLED := node_modules/.installed

.DEFAULT_GOAL := help
.PHONY: help install run test soak check bench clean

help: ## This list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

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

soak: export LEAK_CAPTURES := 500
soak: $(INSTALLED) ## 500 captures with errors, hangs and crashes among them: nothing may leak (make test takes 100)
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

bench: $(INSTALLED) ## Measure how many searches a second go through
	@$(NODE) test/support/provision.ts
	@$(NODE) test/bench/main.ts

clean: ## Delete what make run and make test have left: data, logs, keys
	rm -rf .local coverage
