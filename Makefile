# Every task of the project. `make` alone lists them.

CARGO ?= cargo
TOOLS := $(CURDIR)/.tools
DENY_VERSION := 0.20.2

.PHONY: help run web build test web-test test-live lint fmt deny bench clean

help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

run: web ## The page and the daemon, opened in the browser; Ctrl-C ends it
	@echo 'opens the page; if no browser comes up, open the link that is printed · Ctrl-C ends the daemon'
	$(CARGO) run --locked -p switchyard -- serve --open

build: web ## The release binary, target/release/switchyard, with the page in it
	$(CARGO) build --release --locked -p switchyard

# What the page is made of; whatever changes here has it made anew.
PAGE_SOURCES = $(shell find web/src web/public web/scripts -type f 2>/dev/null) \
	web/index.html web/package.json web/vite.config.ts web/tsconfig.json

web: web/dist/index.html ## The page, web/dist, for the next build of the binary

web/dist/index.html: web/node_modules/.package-lock.json $(PAGE_SOURCES)
	npm --prefix web run --silent build

web/node_modules/.package-lock.json: web/package-lock.json
	@command -v npm >/dev/null || { echo 'the page needs Node 20 or newer with npm; `cargo build` alone makes a binary without it' >&2; exit 1; }
	npm --prefix web ci --no-audit --no-fund
	@touch $@

# The page comes before the binary, which contains it.
test: tools web web-test lint deny ## Everything: the page, lints, licences, all tests
	$(CARGO) test --workspace --locked

web-test: web/node_modules/.package-lock.json ## The page's types, lints and formatting, and its own tests
	npm --prefix web run --silent check
	npm --prefix web run --silent lint
	npm --prefix web run --silent test

lint: ## Formatting and clippy, warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# Whoever has not built the page needs no Node for this.
fmt: ## Format the code, and the page's where its packages are installed
	$(CARGO) fmt --all
	@test ! -x web/node_modules/.bin/prettier || npm --prefix web run --silent format

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
	rm -rf $(TOOLS) web/dist web/node_modules

.PHONY: tools
tools: ## Install what the tests need and the machine lacks
	@scripts/tools

$(TOOLS)/bin/cargo-deny:
	@scripts/install-cargo-deny "$(TOOLS)" "$(DENY_VERSION)"
