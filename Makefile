# Every task of the project. `make` alone lists them.

CARGO ?= cargo
TOOLS := $(CURDIR)/.tools
# Cargo's target directory.
TARGET := "$${CARGO_TARGET_DIR:-target}"
DENY_VERSION := 0.20.2

# One pass over our own code builds and lints it. The features are those of the tests (see testkit's
# Cargo.toml), so `make run` and `make test` share what they build.
# Cargo divides the cores itself; make's own division, which recipes cannot reach, confuses it.
LINTED = MAKEFLAGS= RUSTC_WORKSPACE_WRAPPER=scripts/linting-rustc
TESTS = $(LINTED) $(CARGO) test --workspace --locked
RUN = $(LINTED) $(CARGO) build --locked -p testkit

# Removes what a failed recipe has made: a page that is too large, for one, must not stay.
.DELETE_ON_ERROR:

.PHONY: help run run-ahead web build test test-soak web-test rust-test test-only test-live lint lint-ahead built-tests fmt fmt-check deny fuzz bench clean tools

help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

run: ## The page and the daemon, opened in the browser; Ctrl-C ends it
	@$(MAKE) --no-print-directory --jobs=2 web run-ahead
	$(RUN) -p switchyard --bin switchyard
	@echo 'opens the page; if no browser comes up, open the link that is printed · Ctrl-C ends the daemon'
	$(TARGET)/debug/switchyard serve --open

# Builds, while the page is made, all that the binary, which contains the page, has in common with
# the demo agent.
run-ahead:
	$(RUN) -p switchyard -p agent --bin demo-agent

build: web ## The release binary, target/release/switchyard, with the page in it
	$(CARGO) build --release --locked -p switchyard

# The sources of the page; a change in any of them has it made anew.
PAGE_SOURCES = $(shell find web/src web/public web/scripts -type f 2>/dev/null) \
	web/index.html web/package.json web/vite.config.ts web/tsconfig.json

web: web/dist/index.html ## The page, web/dist, for the next build of the binary

web/dist/index.html: web/node_modules/.package-lock.json $(PAGE_SOURCES)
	npm --prefix web run --silent build

web/node_modules/.package-lock.json: web/package-lock.json
	@command -v npm >/dev/null || { echo 'the page needs Node 20.19, 22.13 or newer with npm; `cargo build` alone makes a binary without it' >&2; exit 1; }
	npm --prefix web ci --no-audit --no-fund
	@touch $@

test: tools ## Everything: the page, lints, licences, all tests; the large ones in a small size
	@$(MAKE) --no-print-directory --jobs=2 web-test rust-test || { scripts/web-test --failed; exit 1; }

test-soak: ## The same with the large tests in full size, which takes much longer
	@SOAK=full $(MAKE) --no-print-directory test

test-only: tools web ## The Rust tests whose names contain T
	@test -n '$(T)' || { echo 'say which: make test-only T=front::' >&2; exit 2; }
	RUSTDOC=true $(TESTS) --no-fail-fast -- $(T)

rust-test: built-tests deny
	@TESTS='$(TESTS)' scripts/run-tests

web-test: web/node_modules/.package-lock.json lint-ahead ## The page's types, lints and formatting, and its own tests
	@scripts/web-test

lint: built-tests ## Formatting, clippy and documentation; warnings are errors
	RUSTDOC="$(CURDIR)/scripts/rustdoc-lints" $(TESTS) --doc --quiet

# The page comes before the binary, which contains it.
built-tests: fmt-check web lint-ahead
	$(TESTS) --no-run
	@warnings=$$($(TESTS) --no-run --quiet 2>&1 | grep -v Executable) || exit 0; \
		echo "$$warnings"; echo 'warnings are errors here' >&2; exit 1

# Builds, while the page is made, what the tests have in common with these examples. The page's own
# tests are written as logs, and ask `changes` what the daemon sends for them.
lint-ahead: tools
	$(LINTED) $(CARGO) build --workspace --locked --example mcp-stage --example sessions-stage --example changes

fmt-check:
	@$(CARGO) fmt --all --check && $(CARGO) fmt --manifest-path fuzz/Cargo.toml --check || \
		{ echo 'hint: make fmt formats it' >&2; exit 1; }

# Whoever has not built the page needs no Node for this.
fmt: ## Format the code, and the page's where its packages are installed
	$(CARGO) fmt --all
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml
	@test ! -x web/node_modules/.bin/prettier || npm --prefix web run --silent format

deny: ## Licences, banned crates and sources of all dependencies, if these have changed
	@scripts/deny '$(TOOLS)' $(DENY_VERSION)

test-live: ## Real agents through the release binary, offline; installs them into a cache first
	$(CARGO) build --release --locked -p switchyard -p live
	$(TARGET)/release/live $(LIVE)

# One target, or all of them one after the other; each starts from the recordings and goes on from
# what earlier runs found. Without a sanitizer: there is no `unsafe` in what is fuzzed.
FUZZ ?= $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs)))
FUZZ_SECONDS ?= 60
# The longest input: as long as the longest recording that is a seed.
FUZZ_MAX_BYTES := 32768

fuzz: ## Look for inputs that break parsers and dialects; FUZZ=pi_rpc FUZZ_SECONDS=600 for one target
	@$(CARGO) +nightly --version >/dev/null 2>&1 || { echo 'fuzzing needs a nightly compiler: rustup toolchain install nightly' >&2; exit 1; }
	@$(CARGO) +nightly fuzz --version >/dev/null 2>&1 || { echo 'fuzzing needs cargo-fuzz: cargo install cargo-fuzz' >&2; exit 1; }
	$(CARGO) test --locked -p runtimes --lib -- --ignored --exact dialect::testing::smoke::seeds_for_fuzzing
	@set -e; for target in $(FUZZ); do echo "== $$target"; \
		$(CARGO) +nightly fuzz run --sanitizer none "$$target" -- -max_total_time=$(FUZZ_SECONDS) -max_len=$(FUZZ_MAX_BYTES) \
			-dict="fuzz/corpus/$$target.dict" -print_final_stats=1; done

# Other daemons and agents take a while to install: only where that part is asked for, or no other is.
BENCH_PARTS = $(filter acp bus daemon instructions native,$(BENCH))
BENCH_DAEMON = $(if $(BENCH_PARTS),$(filter daemon,$(BENCH)),daemon)
BENCH_NATIVE = $(if $(BENCH_PARTS),$(filter native,$(BENCH)),native)

bench: ## Ratios against bare pipes, other routers, daemons and agents; BENCH="bus --quick" runs one part
	$(CARGO) build --release --locked -p switchyard -p bench
	$(TARGET)/release/bench $(TARGET)/release/switchyard --stdio-bus "$$(scripts/stdio-bus '$(TOOLS)')" \
		$(if $(BENCH_DAEMON),--daemon-peers "$$(scripts/daemon-peers '$(TOOLS)')") \
		$(if $(BENCH_NATIVE),--native-peers "$$(scripts/native-peers '$(TOOLS)')") $(BENCH)

clean: ## Remove what was built
	$(CARGO) clean
	rm -rf '$(TOOLS)' web/dist web/node_modules fuzz/target

tools: ## Install what the tests need and the machine lacks
	@scripts/tools
