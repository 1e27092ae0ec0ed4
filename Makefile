# Patchbay needs Go and nothing else to build; its tests also run plugins in other languages.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

# Pure Go: one static binary, and system calls that must reach every thread work only without cgo.
CGO_ENABLED ?= 0
export CGO_ENABLED

# What the tests run beside Go. Debian's packages have the names of the commands, but for ip, which is in iproute2, and node, in nodejs.
TOOLS := python3 jq git gcc curl tmux ip node

# Longest for one package, the race detector's tenfold slowness included.
TEST_TIMEOUT ?= 20m
TEST_FLAGS ?=

# How much of each fuzz target is run. A number of inputs, not a time: until Go 1.27 a target whose time is up may fail for
# that alone (go.dev/issue/75804).
FUZZ_TIME ?= 100000x
FUZZ_PACKAGES ?= $(shell grep -rl --include='*_test.go' --exclude-dir=bench '^func Fuzz' . | xargs -n 1 dirname | sort -u)
# Where inputs that led somewhere new are kept from one run to the next: as go test does.
FUZZ_CACHE ?= $(shell go env GOCACHE)/fuzz
# How many processes run a target; empty: as many as there are processors.
FUZZ_WORKERS ?=
FUZZ_AT_ONCE ?= 2
# What the brief run leaves to the long one. To be fuzzed a package is compiled anew with all it imports; these import the
# engine or the terminal's libraries, which takes minutes.
FUZZ_SLOW := ./adapter/chat ./adapter/chat/builtin ./adapter/httpapi ./adapter/job ./internal/cli ./internal/daemon ./internal/engine ./internal/engine/blocks \
	./internal/journal ./internal/notify ./internal/sessionstore ./internal/storage ./internal/tui

# Packages that take the longest, the longest first: so that none of them is still at work when all others are done.
LONG := ./internal/sandbox ./internal/engine ./faults ./internal/daemon ./internal/pluginhost ./adapter/job ./internal/dialect/python ./internal/sessionstore

# Packages whose tests start whole programs by the hundred, which takes twice as long and more under the race detector. What the programs are made of
# is tested with it in packages of its own; make soak has it look at these too.
UNRACED := ./cmd/patchbay ./internal/sandbox/escape ./internal/conformance ./examples

# What a package leaves out under the race detector for that reason, and is run without it.
CROWDED := ./internal/sandbox -run TestAsNobody

# How many packages are tested at once under the race detector; beside them runs one without it. Their tests wait for processes and clocks most
# of the time: of the wall time of the long ones a sixth to a half is processor time, with one core each.
TEST_PACKAGES ?= 3

# -vet: make check has it done, for the code as it is built. -parallel: tests that say that they are parallel wait most of the time.
TEST_ALWAYS := -vet=off -parallel 4 -timeout $(TEST_TIMEOUT)

# Keeps the race detector from sleeping for a second at the end of every process.
export GORACE ?= atexit_sleep_ms=0

BENCH_FLAGS ?=

# Modules of their own: the SDK for plugins in Go, and a plugin that is written with it.
SDK := sdk/go examples/sdk-go

# How long a daemon is kept under load, and how often what could go wrong once in a hundred times is made to: crashes of each kind,
# messages that are lost on their way to a follower, and whatever tests repeat when they are given the time. 0 leaves that part out.
SOAK ?= 1h
SOAK_FLAGS ?=
SOAK_CRASHES ?= 30
SOAK_LOSSES ?= 30
SOAK_RERUNS ?= 1
SOAK_TESTS ?= 1

# Where npm installs the coding agents that test-hosts drives, two gigabytes of them. HOSTS_MATRIX=1 adds what goes wrong in them.
HOSTS := $(CURDIR)/.hosts
HOSTS_MATRIX ?=
HOSTS_FLAGS ?=

# For go test in webtest: WEB_FLAGS='-run TestPlugins -v'.
WEB_FLAGS ?=

# Systems the code must build for beside the one at hand: each compiles every dependency anew.
PLATFORMS := darwin/arm64 windows/amd64

# Systems that get an archive, and the version in its name.
RELEASES := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
RELEASE ?= $(shell sed -n 's/^const Number = "\(.*\)"/\1/p' internal/version/version.go)

GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.14.0

.PHONY: help build test tools check fmt vet static platforms others modules lint fuzz fuzzbrief bench soak test-hosts test-mcp test-web test-api release release-version clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## bin/patchbay, bin/patchbay-hook for quicker hooks, and bin/patchbay-jail for quicker sandboxes
	go build -trimpath -o bin/ ./cmd/...

# The race detector is the one thing here that needs cgo, and a C compiler with it.
test: tools ## all tests, under the race detector where a C compiler is present
	@if CGO_ENABLED=1 go list -race . >/dev/null 2>&1 && command -v "$$(go env CC)" >/dev/null; then \
		$(MAKE) -j 2 raced unraced; \
	else \
		echo 'test: no C compiler, or a platform without the race detector: races are not looked for'; \
		go test $(TEST_ALWAYS) -p $(TEST_PACKAGES) $(TEST_FLAGS) ./...; \
		for module in $(SDK); do (cd "$$module" && go test $(TEST_ALWAYS) $(TEST_FLAGS) ./...); done; \
	fi
	@if [[ "$$(go env GOOS)" == linux ]] && ! unshare --user --map-root-user true 2>/dev/null; then \
		echo 'test: no user namespaces here: most tests of the sandbox, and all attempts to get out of it, were skipped'; \
	fi
	@if [[ -z "$${PATCHBAY_SEEDS:-}" ]]; then \
		echo 'test: PATCHBAY_SEEDS is not set: the tests against the protocol documents were skipped; transcripts of the protocols (internal/dialect/*/testdata/transcripts) stood in for them'; \
	fi
	@if [[ -z "$${PATCHBAY_HOST_SAMPLES:-}" ]]; then \
		echo 'test: PATCHBAY_HOST_SAMPLES is not set: the test against the events of real agents was skipped; events of our own making (adapter/codehook/testdata/events) stood in for them'; \
	fi

.PHONY: raced unraced

raced: # all packages under the race detector but those that are too slow with it, and then what else they leave out
	@echo 'go test -race, all packages but $(UNRACED)'
	@CGO_ENABLED=1 go test -race $(TEST_ALWAYS) -p $(TEST_PACKAGES) $(TEST_FLAGS) $(LONG) $$(go list ./... | grep -vxFf <(go list $(UNRACED)))
	@echo 'go test -race in $(SDK)'
	@for module in $(SDK); do (cd "$$module" && CGO_ENABLED=1 go test -race $(TEST_ALWAYS) $(TEST_FLAGS) ./...); done
	@echo 'go test $(CROWDED)'
	@go test $(TEST_ALWAYS) $(TEST_FLAGS) $(CROWDED)

unraced: # the others, one after another, since each has many processes at once
	@echo 'go test $(UNRACED)'
	@go test $(TEST_ALWAYS) -p 1 $(TEST_FLAGS) $(UNRACED)

# Where CI is true a missing tool is a failure, lest a whole language go untested in silence.
tools: ## what the tests run; installed by apt-get where that is possible
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
	if [[ -n "$$unformatted" ]]; then echo "gofmt -w wants:"; echo "$$unformatted"; exit 1; fi

vet: ## go vet
	go vet ./...

static: ## staticcheck
	go tool staticcheck ./...

lean: ## the linker drops methods that nobody calls: docs/decisions/0017-what-the-linker-drops.md
	@dir="$$(mktemp -d)"; trap 'rm -rf "$$dir"' EXIT; \
	go build -o "$$dir/patchbay" -ldflags=-dumpdep ./cmd/patchbay 2>"$$dir/links" || { tail -n 20 "$$dir/links"; exit 1; }; \
	[[ -s "$$dir/links" ]] || { echo "the linker said nothing: was it asked?"; exit 1; }; \
	if grep -o '^[^ ]* <[^>]*ReflectMethod[^>]*>' "$$dir/links" | sort -u | grep .; then echo "these keep every exported method in the program"; exit 1; fi

# Not part of CI, where it takes a quarter of the time: run it before a release.
platforms: ## it compiles, tests included, for every system it is meant for
	@for platform in $(PLATFORMS); do \
		echo "build and vet for $$platform"; \
		export GOOS="$${platform%/*}" GOARCH="$${platform#*/}"; \
		{ go build ./... && go vet ./...; } || exit 1; \
	done

# staticcheck is a tool of this module, so its program is asked for here.
others: ## vet of the benchmarks and of the web page's tests; vet and staticcheck of the SDK and its example: modules of their own
	cd bench && go vet ./...
	cd webtest && go vet ./...
	@staticcheck="$$(go tool -n staticcheck)"; \
	for module in $(SDK); do \
		echo "go vet and staticcheck in $$module"; (cd "$$module" && go vet ./... && "$$staticcheck" ./...) || exit 1; \
	done

modules: ## go.mod and go.sum say what the code needs, and the modules are what go.sum says
	go mod tidy -diff
	cd bench && go mod tidy -diff
	cd webtest && go mod tidy -diff
	@for module in $(SDK); do (cd "$$module" && go mod tidy -diff) || exit 1; done
	go mod verify

lint: ## golangci-lint; slow the first time, since it is compiled
	go run $(GOLANGCI_LINT) run ./...

# A package is built once for all its targets. Minimising is cut short: for inputs as long as these it takes the whole of the time.
fuzz: ## every fuzz target for FUZZ_TIME
	@work="$$(mktemp -d)"; trap 'rm -rf "$$work"' EXIT; \
	for package in $(FUZZ_PACKAGES); do \
		go -C "$$package" test -c -fuzz . -o "$$work/fuzz.test" .; \
		cache="$(FUZZ_CACHE)/$$(go -C "$$package" list .)"; \
		for target in $$(cd "$$package" && "$$work/fuzz.test" -test.list '^Fuzz'); do \
			echo "$$target in $$package"; \
			(cd "$$package" && "$$work/fuzz.test" -test.run '^$$' -test.fuzz "^$$target$$" -test.fuzztime $(FUZZ_TIME) \
				-test.fuzzminimizetime 10x $(if $(FUZZ_WORKERS),-test.parallel $(FUZZ_WORKERS)) -test.fuzzcachedir "$$cache" >"$$work/log" 2>&1 </dev/null) || { \
				cat "$$work/log"; \
				echo "fuzz: $$target failed; the input is the new file in $$package/testdata/fuzz/$$target, which go test runs from now on"; \
				exit 1; \
			}; \
			tail -n 2 "$$work/log" | grep '^fuzz:' || true; \
		done; \
	done

# From the seeds alone, so that it takes the same time everywhere. FUZZ_AT_ONCE packages at once, with a process each: most of the time is linking
# and starting.
fuzzbrief: ## every fuzz target that is quick to build, for a few seconds: what CI runs
	@cache="$$(mktemp -d)"; trap 'rm -rf "$$cache"' EXIT; \
	printf '%s\n' $(filter-out $(FUZZ_SLOW),$(FUZZ_PACKAGES)) | xargs -P $(FUZZ_AT_ONCE) -I '{}' \
		$(MAKE) fuzz FUZZ_TIME=1000x FUZZ_WORKERS=1 FUZZ_CACHE="$$cache" FUZZ_PACKAGES='{}'

bench: ## Patchbay against its peers, one run
	go build -trimpath -o bin/ ./cmd/...
	cd bench && go build -trimpath -o ../bin/patchbay-bench . && ../bin/patchbay-bench $(BENCH_FLAGS)

.PHONY: sdk-copy test-templates

# The SDKs are originals in sdk/; plugin new has copies, since a module cannot embed the files of another.
sdk-copy: ## renew what plugin new writes beside plugins: the copies of the SDKs
	mkdir -p internal/newplugin/_sdk
	touch internal/newplugin/_sdk/go.txtar internal/newplugin/_sdk/patchbay_plugin.py internal/newplugin/_sdk/patchbay_plugintest.py
	go test ./internal/newplugin -run TestSDKCopies -count 1 -update

# CI makes one of each dialect; this makes all, in every language.
test-templates: tools ## every template of plugin new: generated, tested, and used in a turn
	PATCHBAY_TEMPLATES=all go test ./cmd/patchbay -run 'TestTemplates' -count 1 -v -timeout 30m

# Not part of CI: it needs npm, and takes some minutes. mcptest/run says what it does.
test-mcp: ## MCP both ways against the protocol's conformance suite and Inspector, which are fetched from npm
	mcptest/run

# Not part of CI. SOAK_FLAGS='-pause 100ms' makes room for other work; bin/patchbay-soak -help lists them all.
soak: ## one daemon under load for SOAK, then crash after crash
	go build -trimpath -o bin/ ./cmd/...
	cd bench && go build -trimpath -o ../bin/patchbay-soak ./soak
	bin/patchbay-soak -for $(SOAK) $(SOAK_FLAGS)
	@if (( $(SOAK_LOSSES) )); then \
		echo 'go test ./internal/engine: followers that lose messages on the way, $(SOAK_LOSSES) times'; \
		go test ./internal/engine -run 'TestFollowMissesNothing|TestPullHoldsAll' -count $(SOAK_LOSSES) -timeout 60m; \
	fi
	@if (( $(SOAK_RERUNS) )); then \
		echo 'go test -run Again: as each user, in each place'; \
		PATCHBAY_RERUN_ALL=1 go test ./... -run 'Again$$' -count 1 -timeout 60m; \
	fi
	@if (( $(SOAK_TESTS) )); then \
		echo 'go test -race ./...: every repetition that .ci/run leaves out'; \
		PATCHBAY_SOAK=1 CGO_ENABLED=1 go test -race -count 1 -timeout 120m ./...; \
	fi
	@if (( $(SOAK_CRASHES) )); then \
		echo 'go test ./cmd/patchbay: kill -9 and Ctrl-C, $(SOAK_CRASHES) times each'; \
		PATCHBAY_CRASH_ROUNDS=$(SOAK_CRASHES) go test ./cmd/patchbay -run 'TestKilledInMidRun|TestKilledInMidTurn|TestInterruptedCommands' -count 1 -timeout 60m; \
	fi

# Not part of CI: the agents are programs of others, from wherever npm is configured to fetch them. None of their scripts is run, and
# the tests run in a network namespace with nothing but loopback. HOSTS_FLAGS='-run /claude' narrows them.
test-hosts: build ## the real coding agents against a scripted model: needs npm, Linux and namespaces
	@if ! cmp -s hosttest/package.json $(HOSTS)/installed.json; then \
		echo 'test-hosts: npm install'; \
		rm -rf $(HOSTS) && mkdir -p $(HOSTS) && cp hosttest/package.json $(HOSTS)/; \
		npm install --prefix $(HOSTS) --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error; \
		cp hosttest/package.json $(HOSTS)/installed.json; \
	fi
	PATCHBAY_HOSTS=$(HOSTS) HOSTS_MATRIX=$(HOSTS_MATRIX) go test ./hosttest -count 1 -v -timeout 90m $(HOSTS_FLAGS)

# Not part of CI, which has no npm; the tests of package web look at what is committed. WEBTEST_SCREENSHOTS=DIR keeps pictures of the pages.
test-web: ## the web page: built anew and compared with web/dist, then walked in Chromium; needs npm
	@if command -v npm >/dev/null; then \
		[ "$$(node --version)" = "v$$(cat web/.node-version)" ] || echo "test-web: this is Node $$(node --version); web/dist is built with v$$(cat web/.node-version)"; \
		(cd web && npm ci --no-audit --no-fund --loglevel=error && npm run build -- --outDir .built --logLevel error) || exit 1; \
		if diff -r web/dist web/.built >/dev/null; then rm -rf web/.built; else \
			diff -rq web/dist web/.built; rm -rf web/.built; \
			echo 'test-web: web/dist is not what the sources make: npm run build in web/, and commit it'; exit 1; \
		fi; \
	else echo 'test-web: no npm here: web/dist was not compared with its sources, and accessibility is not looked at'; fi
	cd webtest && go test ./... -count 1 -timeout 30m $(WEB_FLAGS)

# Not part of CI: it needs npm. apitest/run says what it does.
test-api: ## a TypeScript client, generated from the daemon's OpenAPI document by openapi-typescript, against that daemon; needs npm
	apitest/run

release-version: # the version in the names of the archives
	@echo $(RELEASE)

# The same files wherever and whenever it is run on one commit: no paths, no names of users, the commit's time, modes that no umask changes. The
# commit is in the programs, whatever GOFLAGS says.
release: ## dist/: an archive for each system people run it on, and SHA256SUMS
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

clean: ## remove what build and the tools leave behind
	rm -rf bin dist
