# To build Patchbay you need only Go. Its tests also run plugins in other languages.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

# No cgo: the binary is static, and system calls that must apply to every thread work only without
# cgo.
CGO_ENABLED ?= 0
export CGO_ENABLED

# The programs that the tests run, besides Go. On Debian each is in the package of the same name,
# except ip (iproute2) and node (nodejs).
TOOLS := python3 jq git gcc curl tmux ip node

# The time limit for one package. The race detector makes some tests ten times slower.
TEST_TIMEOUT ?= 20m
TEST_FLAGS ?=

# How many inputs each fuzz target runs. It is a number and not a time because, before Go 1.27, a
# target may fail only because its time is up (go.dev/issue/75804).
FUZZ_TIME ?= 100000x
FUZZ_PACKAGES ?= $(shell grep -rl --include='*_test.go' --exclude-dir=bench '^func Fuzz' . | xargs -n 1 dirname | sort -u)
# The directory for inputs that reached new code. They are used again in the next run. go test uses
# the same directory.
FUZZ_CACHE ?= $(shell go env GOCACHE)/fuzz
# How many processes run one target. Empty means one for each processor.
FUZZ_WORKERS ?=

# The slowest packages, the slowest first. They start first, so that none is still running when all
# others are done.
LONG := ./internal/sandbox ./internal/engine ./internal/daemon ./internal/pluginhost ./adapter/job ./internal/dialect/python ./internal/sessionstore

# Packages whose tests start hundreds of whole programs. Under the race detector they take at least
# twice as long, so only make soak runs them with it. The code of these programs is tested with it
# in other packages.
UNRACED := ./cmd/patchbay ./internal/sandbox/escape ./faults ./internal/conformance ./examples

# A test that skips itself under the race detector for the same reason. make test runs it without
# the detector.
CROWDED := ./internal/sandbox -run TestAsNobody

# How many packages are tested at once under the race detector, and how many at the same time
# without it. The tests mostly wait for processes and clocks: the slow ones use a sixth to a half of one
# core.
TEST_PACKAGES ?= 3
UNRACED_PACKAGES ?= 2

# -vet=off: make check runs vet. -parallel: parallel tests mostly wait.
TEST_ALWAYS := -vet=off -parallel 4 -timeout $(TEST_TIMEOUT)

# Without this setting the race detector sleeps for a second at the end of every process.
export GORACE ?= atexit_sleep_ms=0

BENCH_FLAGS ?=

# Modules of their own: the SDK for plugins in Go, and an example plugin that uses it.
SDK := sdk/go examples/sdk-go

# SOAK is how long one daemon runs under load. The numbers say how often rare faults are tried:
# SOAK_CRASHES crashes of each kind, SOAK_LOSSES runs in which a follower loses messages.
# SOAK_RERUNS=1 runs tests again as other users and in other directories, SOAK_TESTS=1 runs every
# test with all its repetitions, SOAK_FUZZ=1 runs make fuzz. 0 leaves a part out.
SOAK ?= 1h
SOAK_FLAGS ?=
SOAK_CRASHES ?= 30
SOAK_LOSSES ?= 30
SOAK_RERUNS ?= 1
SOAK_TESTS ?= 1
SOAK_FUZZ ?= 1

# HOSTS is where npm installs the coding agents for test-hosts (two gigabytes). HOSTS_MATRIX=1 also
# makes plugins and the daemon fail in each agent.
HOSTS := $(CURDIR)/.hosts
HOSTS_MATRIX ?=
HOSTS_FLAGS ?=

# Flags for go test in webtest, for example WEB_FLAGS='-run TestPlugins -v'.
WEB_FLAGS ?=

# Other systems for which the code must build. Each one compiles every dependency again.
PLATFORMS := darwin/arm64 windows/amd64

# The systems that get an archive, and the version in its name.
RELEASES := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
RELEASE ?= $(shell sed -n 's/^const Number = "\(.*\)"/\1/p' internal/version/version.go)

GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.14.0

.PHONY: help build test tools check fmt vet static lean platforms others modules lint fuzz bench soak test-hosts test-mcp test-web test-api release release-version clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## bin/patchbay, bin/patchbay-hook for quicker hooks, and bin/patchbay-jail for quicker sandboxes
	go build -trimpath -o bin/ ./cmd/...

# Only the race detector needs cgo and a C compiler.
test: tools ## all tests, under the race detector where a C compiler is present
	@if CGO_ENABLED=1 go list -race . >/dev/null 2>&1 && command -v "$$(go env CC)" >/dev/null; then \
		$(MAKE) -j 2 raced unraced; \
	else \
		echo 'test: no race detector: there is no C compiler, or the platform does not support it'; \
		go test $(TEST_ALWAYS) -p $(TEST_PACKAGES) $(TEST_FLAGS) ./...; \
		for module in $(SDK); do (cd "$$module" && go test $(TEST_ALWAYS) $(TEST_FLAGS) ./...); done; \
	fi
	@if [[ "$$(go env GOOS)" == linux ]] && ! unshare --user --map-root-user true 2>/dev/null; then \
		echo 'test: no user namespaces here: most tests of the sandbox, and all attempts to escape from it, were skipped'; \
	fi
	@if [[ -z "$${PATCHBAY_SEEDS:-}" ]]; then \
		echo 'test: PATCHBAY_SEEDS is not set: the tests against the protocol documents were skipped; the transcripts in internal/dialect/*/testdata/transcripts replaced them'; \
	fi
	@if [[ -z "$${PATCHBAY_HOST_SAMPLES:-}" ]]; then \
		echo 'test: PATCHBAY_HOST_SAMPLES is not set: the test against the events of real agents was skipped; our own events in adapter/codehook/testdata/events replaced them'; \
	fi

.PHONY: raced unraced

raced: # all packages except UNRACED under the race detector
	@echo 'go test -race, all packages but $(UNRACED)'
	@CGO_ENABLED=1 go test -race $(TEST_ALWAYS) -p $(TEST_PACKAGES) $(TEST_FLAGS) $(LONG) $$(go list ./... | grep -vxFf <(go list $(UNRACED)))
	@echo 'go test -race in $(SDK)'
	@for module in $(SDK); do (cd "$$module" && CGO_ENABLED=1 go test -race $(TEST_ALWAYS) $(TEST_FLAGS) ./...); done

unraced: # the packages in UNRACED, few at once, because each starts many processes; then CROWDED
	@echo 'go test $(UNRACED)'
	@go test $(TEST_ALWAYS) -p $(UNRACED_PACKAGES) $(TEST_FLAGS) $(UNRACED)
	@echo 'go test $(CROWDED)'
	@go test $(TEST_ALWAYS) $(TEST_FLAGS) $(CROWDED)

# With CI=true a missing tool is a failure, so that no language is left untested unnoticed.
tools: ## install the programs that the tests run, with apt-get, as root
	@missing=(); \
	for tool in $(TOOLS); do command -v "$$tool" >/dev/null || missing+=("$$tool"); done; \
	if (( $${#missing[@]} )) && command -v apt-get >/dev/null && [[ "$$(id -u)" == 0 ]]; then \
		echo "tools: installing $${missing[*]}"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$(sed 's/^ip$$/iproute2/; s/^node$$/nodejs/' <<<"$$(printf '%s\n' "$${missing[@]}")"); } >/dev/null \
			|| echo 'tools: apt-get could not install them all'; \
	fi; \
	missing=(); \
	for tool in $(TOOLS); do command -v "$$tool" >/dev/null || missing+=("$$tool"); done; \
	if (( $${#missing[@]} )); then \
		echo "tools: missing: $${missing[*]}; the tests that need them cannot run"; \
		[[ "$${CI:-}" != true ]] || exit 1; \
	fi

check: fmt vet static lean others modules ## everything but the tests

fmt: ## gofmt
	@unformatted="$$(find . -name '*.go' -not -path '*/testdata/*' -not -path '*/node_modules/*' -print0 | xargs -0 gofmt -l)" || exit 1; \
	if [[ -n "$$unformatted" ]]; then echo "run gofmt -w on these files:"; echo "$$unformatted"; exit 1; fi

vet: ## go vet
	go vet ./...

static: ## staticcheck
	go tool staticcheck ./...

lean: ## the linker drops methods without callers: docs/decisions/0017-what-the-linker-drops.md
	@dir="$$(mktemp -d)"; trap 'rm -rf "$$dir"' EXIT; \
	go build -o "$$dir/patchbay" -ldflags=-dumpdep ./cmd/patchbay 2>"$$dir/links" || { tail -n 20 "$$dir/links"; exit 1; }; \
	[[ -s "$$dir/links" ]] || { echo "the linker printed no dependencies: does it still have -dumpdep?"; exit 1; }; \
	if grep -o '^[^ ]* <[^>]*ReflectMethod[^>]*>' "$$dir/links" | sort -u | grep .; then echo "because of these the linker keeps every exported method"; exit 1; fi

# Not part of .ci/run, because it would take a quarter of the time of .ci/run. Run it before a
# release.
platforms: ## build and vet for the other systems, tests included
	@for platform in $(PLATFORMS); do \
		echo "build and vet for $$platform"; \
		export GOOS="$${platform%/*}" GOARCH="$${platform#*/}"; \
		{ go build ./... && go vet ./...; } || exit 1; \
	done

# staticcheck is a tool of this module only, so the other modules use its path.
others: ## the other modules: vet of bench and webtest, vet and staticcheck of the SDK and its example
	cd bench && go vet ./...
	cd webtest && go vet ./...
	@staticcheck="$$(go tool -n staticcheck)"; \
	for module in $(SDK); do \
		echo "go vet and staticcheck in $$module"; (cd "$$module" && go vet ./... && "$$staticcheck" ./...) || exit 1; \
	done

modules: ## go.mod and go.sum are tidy, and the modules have the checksums in go.sum
	go mod tidy -diff
	cd bench && go mod tidy -diff
	cd webtest && go mod tidy -diff
	@for module in $(SDK); do (cd "$$module" && go mod tidy -diff) || exit 1; done
	go mod verify

lint: ## golangci-lint; slow the first time, because it is compiled
	go run $(GOLANGCI_LINT) run ./...

# The tests of a package are built once for all its fuzz targets. Minimising is limited to ten inputs: our inputs are
# long, and minimising them would take all the time.
fuzz: ## every fuzz target, FUZZ_TIME inputs each
	@work="$$(mktemp -d)"; trap 'rm -rf "$$work"' EXIT; \
	for package in $(FUZZ_PACKAGES); do \
		go -C "$$package" test -c -fuzz . -o "$$work/fuzz.test" .; \
		cache="$(FUZZ_CACHE)/$$(go -C "$$package" list .)"; \
		targets="$$(cd "$$package" && "$$work/fuzz.test" -test.list '^Fuzz')"; \
		for target in $$targets; do \
			echo "$$target in $$package"; \
			(cd "$$package" && "$$work/fuzz.test" -test.run '^$$' -test.fuzz "^$$target$$" -test.fuzztime $(FUZZ_TIME) \
				-test.fuzzminimizetime 10x $(if $(FUZZ_WORKERS),-test.parallel $(FUZZ_WORKERS)) -test.fuzzcachedir "$$cache" >"$$work/log" 2>&1 </dev/null) || { \
				cat "$$work/log"; \
				echo "fuzz: $$target failed; its input is the new file in $$package/testdata/fuzz/$$target, which go test runs from now on"; \
				exit 1; \
			}; \
			tail -n 2 "$$work/log" | grep '^fuzz:' || true; \
		done; \
	done

bench: ## run the benchmarks once: Patchbay beside its peers
	go build -trimpath -o bin/ ./cmd/...
	cd bench && go build -trimpath -o ../bin/patchbay-bench . && ../bin/patchbay-bench $(BENCH_FLAGS)

.PHONY: sdk-copy test-templates

# The SDKs in sdk/ are the originals. plugin new needs copies, because a module cannot embed the
# files of another module.
sdk-copy: ## renew the copies of the SDKs that plugin new writes
	mkdir -p internal/newplugin/_sdk
	touch internal/newplugin/_sdk/go.txtar internal/newplugin/_sdk/patchbay_plugin.py internal/newplugin/_sdk/patchbay_plugintest.py
	go test ./internal/newplugin -run TestSDKCopies -count 1 -update

# The ordinary tests make one template of each dialect. This makes them all, in every language.
test-templates: tools ## make, test and use every template of plugin new
	PATCHBAY_TEMPLATES=all go test ./cmd/patchbay -run 'TestTemplates' -count 1 -v -timeout 30m

# Not part of .ci/run: it needs npm and takes some minutes. mcptest/run says what it does.
test-mcp: ## Patchbay as MCP server and as client, against the conformance suite and Inspector from npm
	mcptest/run

# Not part of .ci/run. SOAK_FLAGS='-pause 100ms' leaves time for other work on the machine;
# bin/patchbay-soak -help lists all flags.
soak: ## one daemon under load for SOAK, then every test with all its repetitions, fuzzing, crashes
	go build -trimpath -o bin/ ./cmd/...
	cd bench && go build -trimpath -o ../bin/patchbay-soak ./soak
	bin/patchbay-soak -for $(SOAK) $(SOAK_FLAGS)
	@if (( $(SOAK_LOSSES) )); then \
		echo 'go test ./internal/engine: followers that lose messages, $(SOAK_LOSSES) times'; \
		go test ./internal/engine -run 'TestFollowMissesNothing|TestPullHoldsAll' -count $(SOAK_LOSSES) -timeout 60m; \
	fi
	@if (( $(SOAK_RERUNS) )); then \
		echo 'go test -run Again, AsNobody: tests again as root and nobody, in /tmp and outside of it'; \
		PATCHBAY_RERUN_ALL=1 go test ./... -run '(Again|AsNobody)$$' -count 1 -timeout 60m; \
	fi
	@if (( $(SOAK_TESTS) )); then \
		echo 'go test -race ./...: every repetition that .ci/run leaves out'; \
		PATCHBAY_SOAK=1 CGO_ENABLED=1 go test -race -count 1 -timeout 120m ./...; \
	fi
	@if (( $(SOAK_FUZZ) )); then $(MAKE) fuzz; fi
	@if (( $(SOAK_CRASHES) )); then \
		echo 'go test ./cmd/patchbay: kill -9 and Ctrl-C, $(SOAK_CRASHES) times each'; \
		PATCHBAY_CRASH_ROUNDS=$(SOAK_CRASHES) go test ./cmd/patchbay -run 'TestKilledInMidRun|TestKilledInMidTurn|TestInterruptedCommands' -count 1 -timeout 60m; \
	fi

# Not part of .ci/run: npm fetches the agents, which are programs of others. npm runs none of their
# scripts, and the tests run in a network namespace with only loopback. HOSTS_FLAGS='-run /claude'
# narrows them to one agent.
test-hosts: build ## the real coding agents against a scripted model: needs npm, Linux and namespaces
	@if ! cmp -s hosttest/package.json $(HOSTS)/installed.json; then \
		echo 'test-hosts: npm install'; \
		rm -rf $(HOSTS) && mkdir -p $(HOSTS) && cp hosttest/package.json $(HOSTS)/; \
		npm install --prefix $(HOSTS) --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error; \
		cp hosttest/package.json $(HOSTS)/installed.json; \
	fi
	PATCHBAY_HOSTS=$(HOSTS) HOSTS_MATRIX=$(HOSTS_MATRIX) go test ./hosttest -count 1 -v -timeout 90m $(HOSTS_FLAGS)

# Not part of .ci/run, because it needs npm. The tests of package web, which .ci/run runs, check the
# committed web/dist. WEBTEST_SCREENSHOTS=DIR keeps pictures of the pages.
test-web: ## build the web page again, compare it with web/dist, and visit its pages in Chromium; needs npm
	@if command -v npm >/dev/null; then \
		[ "$$(node --version)" = "v$$(cat web/.node-version)" ] || echo "test-web: this is Node $$(node --version); web/dist is built with v$$(cat web/.node-version)"; \
		(cd web && npm ci --no-audit --no-fund --loglevel=error && npm run build -- --outDir .built --logLevel error) || exit 1; \
		if diff -r web/dist web/.built >/dev/null; then rm -rf web/.built; else \
			diff -rq web/dist web/.built; rm -rf web/.built; \
			echo 'test-web: web/dist differs from what its sources build: run npm run build in web/, and commit web/dist'; exit 1; \
		fi; \
	else echo 'test-web: no npm here: web/dist was not compared with its sources, and accessibility is not checked'; fi
	cd webtest && go test ./... -count 1 -timeout 30m $(WEB_FLAGS)

# Not part of .ci/run: it needs npm. apitest/run says what it does.
test-api: ## generate a TypeScript client from the daemon's OpenAPI document, and use it; needs npm
	apitest/run

release-version: # the version in the names of the archives
	@echo $(RELEASE)

# For one commit the archives are the same, byte for byte, wherever and whenever they are made: they
# contain no paths and no names of users, every file has the commit's time, and modes do not depend
# on the umask. -buildvcs=true puts the commit into the programs, whatever GOFLAGS says.
release: ## make an archive for each system, and SHA256SUMS, in dist/
	@rm -rf dist && mkdir dist; stamp="@$$(git log -1 --format=%ct)"; \
	for platform in $(RELEASES); do \
		os="$${platform%/*}" arch="$${platform#*/}" name="patchbay-$(RELEASE)-$${platform/\//-}"; \
		echo "$$name"; \
		GOOS="$$os" GOARCH="$$arch" go build -trimpath -buildvcs=true -ldflags='-s -w' -o "dist/$$name/" ./cmd/patchbay ./cmd/patchbay-hook; \
		if [[ "$$os" == linux ]]; then GOOS="$$os" GOARCH="$$arch" go build -trimpath -buildvcs=true -ldflags='-s -w' -o "dist/$$name/" ./cmd/patchbay-jail; fi; \
		cp LICENSE README.md CHANGELOG.md "dist/$$name/"; \
		chmod -R u=rwX,go=rX "dist/$$name"; find "dist/$$name" -exec touch -d "$$stamp" {} +; \
		if [[ "$$os" == windows ]]; then (cd dist && TZ=UTC python3 -m zipfile -c "$$name.zip" "$$name/"); \
		else tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="$$stamp" -C dist -c "$$name" | gzip -9n >"dist/$$name.tar.gz"; fi; \
		rm -rf "dist/$$name"; \
	done; \
	cd dist && sha256sum -- * >SHA256SUMS

clean: ## remove bin/ and dist/
	rm -rf bin dist
