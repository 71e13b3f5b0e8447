# Every task of the project. `make` alone lists them.

CARGO ?= cargo
TOOLS := $(CURDIR)/.tools
DENY_VERSION := 0.20.2

.PHONY: help run test test-live lint fmt deny bench build clean

help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

run: ## A streamed turn with the built-in demo agent
	$(CARGO) run --locked -p switchyard -- run demo "say hello"

build: ## The release binary, target/release/switchyard
	$(CARGO) build --release -p switchyard

test: tools lint deny ## Everything: lints, licences, all tests
	$(CARGO) test --workspace --locked

lint: ## Formatting and clippy, warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

fmt: ## Format the code
	$(CARGO) fmt --all

deny: $(TOOLS)/bin/cargo-deny ## Licences, banned crates and sources of all dependencies
	PATH="$(TOOLS)/bin:$$PATH" $(CARGO) deny check licenses bans sources

test-live: ## Real agents through the release binary, offline; installs them into a cache first
	$(CARGO) build --release --locked -p switchyard -p live
	target/release/live $(LIVE)

# Other daemons and agents take a while to install: only where that part is asked for, or no other is.
BENCH_PARTS = $(filter acp bus daemon instructions native,$(BENCH))
BENCH_DAEMON = $(if $(BENCH_PARTS),$(filter daemon,$(BENCH)),daemon)
BENCH_NATIVE = $(if $(BENCH_PARTS),$(filter native,$(BENCH)),native)

bench: ## Ratios against bare pipes, other routers, daemons and agents; BENCH="bus --quick" runs one part
	$(CARGO) build --release --locked -p switchyard -p bench
	target/release/bench target/release/switchyard --stdio-bus "$$(scripts/stdio-bus '$(TOOLS)')" \
		$(if $(BENCH_DAEMON),--daemon-peers "$$(scripts/daemon-peers '$(TOOLS)')") \
		$(if $(BENCH_NATIVE),--native-peers "$$(scripts/native-peers '$(TOOLS)')") $(BENCH)

clean: ## Remove what was built
	$(CARGO) clean
	rm -rf $(TOOLS)

.PHONY: tools
tools: ## Install what the tests need and the machine lacks
	@scripts/tools

$(TOOLS)/bin/cargo-deny:
	@scripts/install-cargo-deny "$(TOOLS)" "$(DENY_VERSION)"
