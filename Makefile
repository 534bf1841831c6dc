# Tasks of the project; `make` lists them.
#
# Steps that install or build leave stamp files in .venv, so that the next call skips them. Nothing outside this folder
# is changed, except the package caches of cargo and pip, and rustup's components and its target wasm32-unknown-unknown.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Targets run one after another, since they share caches and each uses all cores.
.NOTPARALLEL:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out
# An absolute path, so that the build of the source package in a temporary folder uses the same target folder.
export CARGO_TARGET_DIR ?= $(CURDIR)/target
TARGET := $(CARGO_TARGET_DIR)
CARGO := cargo
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1
# maturin installs into the environment that these variables name, not into the active one of the caller's shell.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
unexport CONDA_PREFIX
export CARGO_TERM_PROGRESS_WHEN ?= never

RUST_SOURCES := $(shell find crates -type f -not -path '*/target/*') Cargo.toml Cargo.lock
PYTHON_SOURCES := $(shell find python/tailback -type f -not -path '*/web/built/*' -not -name '*.pyc' -not -name '*.so' 2>/dev/null)
# The Python extension cannot be linked into a test program without libpython; the Python tests cover it.
TESTED_CRATES := --workspace --exclude tailback-py
WEB_SOURCES := $(shell find web -type f -not -path '*/node_modules/*' 2>/dev/null)
WEB := python/tailback/web/built
WASM := $(TARGET)/wasm32-unknown-unknown/release/tailback_wasm.wasm

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- Set-up -----------------------------------------------------------------------------------------------------

$(BIN)/python:
	@tools/make_venv.sh "$(PYTHON)" "$(VENV)"

# The tested versions with their hashes: other files under the same version numbers are rejected.
$(VENV)/.needed: requirements/run.txt | $(BIN)/python
	$(BIN)/pip install --require-hashes -r requirements/run.txt
	@touch $@

# The extension. Python files are used in place, so only changes of Rust need a new build.
$(VENV)/.installed: $(RUST_SOURCES) pyproject.toml $(VENV)/.needed
	@command -v cargo >/dev/null || { echo "Tailback needs Rust 1.88 or newer; see https://rustup.rs"; exit 1; }
	@echo "Building the extension: about 4 minutes on 2 cores the first time."
	$(BIN)/maturin develop --release --locked
	@touch $@

$(VENV)/.tested: requirements/dev.txt | $(VENV)/.installed
	$(BIN)/pip install --require-hashes -r requirements/dev.txt
	@touch $@

# Scripts and style sheets for browsers, which the package contains.
web/node_modules/.installed: web/package.json web/package-lock.json
	@command -v npm >/dev/null || { echo "Tailback's pages need Node.js 18 or newer with npm (Debian package npm)"; exit 1; }
	cd web && npm ci --no-audit --no-fund --silent
	@touch $@

$(WEB)/report.js: $(WEB_SOURCES) web/node_modules/.installed
	node web/build.mjs

.PHONY: web
web: $(WEB)/report.js ## Build the scripts and style sheets of the pages

# The lab contains the simulator as a WebAssembly module, and the scenarios of the gallery.
LAB_WASM := $(TARGET)/wasm32-unknown-unknown/wasm/tailback_wasm.wasm
GALLERY := $(shell find python/tailback/gallery -name '*.toml' -o -name README.md)

$(LAB_WASM): $(RUST_SOURCES)
	@tools/wasm_ready.sh
	$(CARGO) build --locked --profile wasm --target wasm32-unknown-unknown -p tailback-wasm

$(WEB)/lab/index.html: $(LAB_WASM) $(GALLERY) python/tests/laws/codel.wat $(WEB)/report.js
	node web/lab.mjs $(LAB_WASM)

.PHONY: lab
lab: $(WEB)/lab/index.html ## Build the lab, the simulator in a browser (minutes the first time)
	@echo "The lab is $(WEB)/lab/index.html; \`tailback lab\` serves it."

.PHONY: build
build: $(VENV)/.installed $(WEB)/report.js ## Build and install the package into .venv

.PHONY: quick
quick: $(VENV)/.installed $(WEB)/report.js ## Build, and reproduce one experiment within a minute of the build
	$(BIN)/tailback reproduce lan-a1 --quick --out $(OUT)/quick
	@echo "The figures are in $(OUT)/quick/report.html"

.PHONY: run
run: $(OUT)/.reproduced ## Reproduce every experiment (10 minutes on 2 cores); the report is out/report.html
	@echo "The report is $(OUT)/report.html"

$(OUT)/.reproduced: $(VENV)/.installed $(WEB)/report.js $(PYTHON_SOURCES)
	@echo "Reproducing every experiment at quick length: about 10 minutes on 2 cores."
	$(BIN)/tailback reproduce all --quick --out $(OUT)
	@touch $@

# Rebuilds in seconds after a change of Rust; the simulator has about two thirds of the speed of a release build.
.PHONY: dev
dev: $(VENV)/.needed ## Build the extension for development: rebuilds in seconds, slower runs
	@command -v cargo >/dev/null || { echo "Tailback needs Rust 1.88 or newer; see https://rustup.rs"; exit 1; }
	$(BIN)/maturin develop --locked --quiet

# Takes hours; the same command resumes an interrupted run. `make results RUN=lan` runs one group or experiment and
# keeps the results of the others. Exit code 5 (claims that failed or are undecided) is not an error here, since the
# pages show the verdicts.
RUN ?= all
.PHONY: results
results: $(VENV)/.installed $(WEB)/report.js ## Reproduce every experiment at full length (hours) and write docs/results
	$(BIN)/tailback reproduce $(RUN) --full --out $(OUT)/full || [ $$? -eq 5 ]
	$(BIN)/python tools/docs_results.py $(OUT)/full

.PHONY: cards
cards: $(VENV)/.installed ## Evaluate disciplines and congestion controls, and write docs/evaluate
	$(BIN)/python tools/report_cards.py

# --- Tests ------------------------------------------------------------------------------------------------------

.PHONY: test
test: test-rust test-python test-wasm test-web ## Run all tests except the long ones, which `validate` runs

.PHONY: test-rust
test-rust: ## Run the tests of the Rust crates
	$(CARGO) test --locked --no-fail-fast $(TESTED_CRATES)

.PHONY: test-python
test-python: $(VENV)/.tested $(WEB)/report.js ## Run the tests of the Python package
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist worksteal

.PHONY: test-wasm
test-wasm: $(VENV)/.installed ## Check that the WebAssembly module gives the same digests as the native program
	@tools/wasm_ready.sh || exit 0; \
	set -x; \
	$(CARGO) build --locked --release --target wasm32-unknown-unknown -p tailback-wasm; \
	$(BIN)/python tools/wasm_digest.py $(WASM)

.PHONY: test-web
test-web: $(VENV)/.installed $(WEB)/report.js ## Test the pages and the lab in a browser (Debian package chromium); skipped without one
	@if tools/wasm_ready.sh; then $(MAKE) --no-print-directory lab; fi
	cd web && TAILBACK=$(CURDIR)/$(BIN)/tailback node --test test/*.test.mjs

.PHONY: check
check: $(VENV)/.tested $(WEB)/report.js ## Check format, lints, types, stubs and Rust documentation; warnings are errors
	@tools/rust_components.sh rustfmt clippy
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest tailback._native
	cd web && npm run --silent check
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps --quiet

.PHONY: format
format: $(VENV)/.tested ## Put all sources into the common format
	$(CARGO) fmt --all
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format

.PHONY: audit
audit: $(BIN)/python ## Check licences and known advisories of all pinned packages
	tools/audit.sh $(PYTHON)

.PHONY: lock
lock: ## Renew the pinned versions and hashes in requirements/
	tools/lock.sh $(PYTHON)

.PHONY: check-bounds
check-bounds: $(VENV)/.installed ## Run the Python tests with the oldest dependencies that pyproject.toml allows
	$(BIN)/python tools/check_bounds.py

.PHONY: validate
validate: $(VENV)/.tested $(WEB)/report.js ## Run the long tests too (random networks, every claim, TCP against ns-2, policies against Linux)
	$(CARGO) test --locked --profile validate $(TESTED_CRATES) -- --include-ignored
	$(BIN)/python -m pytest -m "slow or not slow"
	tools/fuzz.sh 60
	tools/miri.sh
	tools/loom.sh
	$(BIN)/python tools/mutate.py --count 40 --out $(OUT)/mutants
	$(BIN)/python tools/script_mutants.py --out $(OUT)/script-mutants
	@if tools/wasm_ready.sh; then $(MAKE) --no-print-directory lab; fi
	cd web && LAB_GALLERY=all TAILBACK=$(CURDIR)/$(BIN)/tailback node --test test/gallery.test.mjs
	$(BIN)/python validation/tcp.py --out $(OUT)/validation
	$(BIN)/python validation/linux/compare.py --out $(OUT)/validation
	$(BIN)/python validation/linux/witness.py --recorded
	$(BIN)/python validation/linux/replay.py --recorded
	$(BIN)/python validation/linux/segments.py --recorded

# `validate` compares policies with this kernel; without the kernel it skips the comparison.
.PHONY: kernel
kernel: $(OUT)/validation/kernel/linux ## Build a Linux kernel with virtual time for `validate` (5 to 10 minutes on 2 cores)

$(OUT)/validation/kernel/linux:
	python/tailback/witness/guest/build_kernel.sh $(dir $@)

# The script prints what is missing and ends with 3 where the kernel cannot be built. It runs beside the build of the
# extension, of which the link step has one thread.
.PHONY: witness
witness: ## Compare 12 dumbbells with a Linux kernel in virtual time, which is built first (20 minutes on 2 cores)
	@python/tailback/witness/guest/build_kernel.sh $(OUT)/validation/kernel & kernel=$$!; \
	$(MAKE) --no-print-directory $(VENV)/.installed || { wait $$kernel || true; exit 1; }; \
	code=0; wait $$kernel || code=$$?; \
	if [ $$code = 3 ]; then echo "SKIPPED: see the reason above"; exit 0; fi; \
	[ $$code = 0 ] && $(BIN)/python validation/linux/witness.py --sample --most 5 --out $(OUT)/validation

# The same command resumes an interrupted run.
.PHONY: coverage
coverage: $(VENV)/.installed ## Measure the coverage of intervals over 1000 studies (an hour of one core) and write docs/statistics.md
	$(BIN)/python validation/intervals/coverage.py --out $(OUT)/coverage --record --page docs/statistics.md

# Time for each fuzz target, seconds; default: an hour.
FUZZ_SECONDS ?= 3600
.PHONY: fuzz
fuzz: ## Fuzz the readers of documents, assignments, traces, studies and router configurations
	tools/fuzz.sh $(FUZZ_SECONDS)

# More mutants than `validate` tests; the same command resumes an interrupted run. Default of SEED: the first 8 hex
# digits of HEAD.
COUNT ?= 500
SEED ?=
.PHONY: mutants
mutants: $(VENV)/.tested ## Test COUNT mutants of the code, drawn by SEED, and list those that no test detects
	$(BIN)/python tools/mutate.py --count $(COUNT) $(if $(SEED),--seed $(SEED)) --out $(OUT)/mutants

# --- Measurements -----------------------------------------------------------------------------------------------

.PHONY: bench
bench: $(VENV)/.installed ## Measure packet-hops per CPU second, and instructions per packet-hop
	$(CARGO) build --locked --release -p tailback-bench
	$(BIN)/python tools/bench.py --binary $(TARGET)/release/tailback-bench --tailback $(BIN)/tailback --out $(OUT)/bench.md

.PHONY: bench-peers
bench-peers: ## Measure ns-2, ns-3, a bare event loop in C and Tailback alternately
	$(CARGO) build --locked --release -p tailback-bench
	$(PYTHON) tools/bench_peers.py --binary $(TARGET)/release/tailback-bench --build $(TARGET)/peers --out $(OUT)/bench-peers.md

.PHONY: bench-disciplines
bench-disciplines: $(VENV)/.installed ## Count the instructions per packet of each queue discipline
	$(CARGO) build --locked --release -p tailback-bench
	$(BIN)/python tools/bench_disciplines.py --binary $(TARGET)/release/tailback-bench --out $(OUT)/bench-disciplines.md

# The same command resumes an interrupted run; after a change of the program everything is measured again.
# PERFORMANCE="--parts instructions" measures only that part.
PERFORMANCE ?=
.PHONY: performance
performance: $(VENV)/.installed ## Measure this version and write the tables of docs/performance.md (minutes)
	$(CARGO) build --locked --release -p tailback-bench
	$(BIN)/python tools/performance.py --binary $(TARGET)/release/tailback-bench $(PERFORMANCE)

.PHONY: bench-sweep
bench-sweep: $(VENV)/.tested ## Measure the processor utilisation of a sweep, on threads and on Dask
	$(BIN)/python tools/sweep_load.py

# --- Site ---------------------------------------------------------------------------------------------------------

# Sphinx is in an environment of its own, since only the site needs it.
SITE_VENV := $(VENV)/site
$(SITE_VENV)/.installed: requirements/site.txt $(VENV)/.installed
	$(BIN)/python -m venv $(SITE_VENV)
	$(SITE_VENV)/bin/pip install --require-hashes -r requirements/site.txt
	@touch $@

# The build checks links, anchors and samples in TOML; python/tests/test_samples.py states what checks the other samples. A
# report that `make run` has written becomes a part of the site.
.PHONY: site
site: $(SITE_VENV)/.installed $(WEB)/lab/index.html ## Build the documentation, the gallery and the lab as a static site
	PYTHONPATH=python:tools $(SITE_VENV)/bin/python -m website.build $(OUT)/site --report $(OUT)
	@echo "The site is $(OUT)/site/index.html"

# --- Packages ---------------------------------------------------------------------------------------------------

.PHONY: wheel
wheel: $(VENV)/.installed $(WEB)/lab/index.html ## Build a wheel and a source package, and test the wheel without Rust
	rm -rf dist
	$(BIN)/maturin build --release --locked --sdist --out dist
	$(BIN)/python tools/check_wheel.py dist

.PHONY: clean
clean: ## Remove all files that the other targets made
	rm -rf $(VENV) $(OUT) dist target .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf web/node_modules $(WEB)
	rm -f python/tailback/_native*.so
	find python tools -name __pycache__ -type d -prune -exec rm -rf {} +
