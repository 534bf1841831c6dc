# Everything that the project does, by name. `make` alone lists it.
#
# What a step has installed or built leaves a stamp in .venv, so that the next call skips it. Nothing outside this folder
# is touched, but for the package caches of cargo and pip and, once, `rustup target add wasm32-unknown-unknown`.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# The steps share two caches and all cores already.
.NOTPARALLEL:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out
# Named in full, so that the source package, which is built in a temporary folder, finds what is built already.
export CARGO_TARGET_DIR ?= $(CURDIR)/target
TARGET := $(CARGO_TARGET_DIR)
CARGO := cargo
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1
# maturin installs into the environment that these name; whichever is active in the caller's shell is not ours.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
unexport CONDA_PREFIX
export CARGO_TERM_PROGRESS_WHEN ?= never

RUST_SOURCES := $(shell find crates -type f -not -path '*/target/*') Cargo.toml Cargo.lock
PYTHON_SOURCES := $(shell find python/tailback -type f -not -name '*.pyc' -not -name '*.so' 2>/dev/null)
# The Python extension cannot be linked into a test program without libpython; its tests are Python's.
TESTED_CRATES := --workspace --exclude tailback-py
WASM := $(TARGET)/wasm32-unknown-unknown/release/tailback_wasm.wasm

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- Set-up -----------------------------------------------------------------------------------------------------

$(BIN)/python:
	@tools/make_venv.sh "$(PYTHON)" "$(VENV)"

# The versions that were tested, each with its hash: what was published under a number later is not taken.
$(VENV)/.needed: requirements/run.txt | $(BIN)/python
	$(BIN)/pip install --require-hashes -r requirements/run.txt
	@touch $@

# The extension; Python files are used in place, so only Rust needs a new build.
$(VENV)/.installed: $(RUST_SOURCES) pyproject.toml $(VENV)/.needed
	@command -v cargo >/dev/null || { echo "Tailback needs Rust 1.88 or newer; see https://rustup.rs"; exit 1; }
	@echo "Building the extension; some 4 minutes on 2 cores the first time."
	$(BIN)/maturin develop --release --locked
	@touch $@

$(VENV)/.tested: requirements/dev.txt | $(VENV)/.installed
	$(BIN)/pip install --require-hashes -r requirements/dev.txt
	@touch $@

.PHONY: build
build: $(VENV)/.installed ## Build and install the package into .venv

.PHONY: quick
quick: $(VENV)/.installed ## Build, and reproduce one experiment: a first figure within a minute of the build
	$(BIN)/tailback reproduce lan-a1 --quick --out $(OUT)/quick
	@echo "The figures are in $(OUT)/quick/report.html"

.PHONY: run
run: $(OUT)/.reproduced ## Reproduce every experiment (10 minutes of 2 cores); the report is out/report.html
	@echo "The report is $(OUT)/report.html"

$(OUT)/.reproduced: $(VENV)/.installed $(PYTHON_SOURCES)
	@echo "Reproducing every experiment at quick length; some 10 minutes on 2 cores, and it goes on where it was stopped."
	$(BIN)/tailback reproduce all --quick --out $(OUT)
	@touch $@

# A change of Rust is there in seconds of building; the simulator is some two thirds as fast as the released one.
.PHONY: dev
dev: $(VENV)/.needed ## Build the extension for work on it: seconds per change, slower runs
	@command -v cargo >/dev/null || { echo "Tailback needs Rust 1.88 or newer; see https://rustup.rs"; exit 1; }
	$(BIN)/maturin develop --locked --quiet

# Hours. Stopped or killed and called again, it goes on where it was; `make results RUN=lan` does one group or experiment and
# keeps the pages of the others. Code 5 says that claims failed or are undecided: the pages are there to tell that.
RUN ?= all
.PHONY: results
results: $(VENV)/.installed ## Reproduce every experiment at full length (hours) and write docs/results
	$(BIN)/tailback reproduce $(RUN) --full --out $(OUT)/full || [ $$? -eq 5 ]
	$(BIN)/python tools/docs_results.py $(OUT)/full

# --- Tests ------------------------------------------------------------------------------------------------------

.PHONY: test
test: test-rust test-python test-wasm ## Run every test (the long ones are in `validate`)

.PHONY: test-rust
test-rust: ## Run the tests of the Rust crates
	$(CARGO) test --locked --no-fail-fast $(TESTED_CRATES)

.PHONY: test-python
test-python: $(VENV)/.tested ## Run the tests of the Python package
	$(BIN)/python -m pytest -m "not slow"

.PHONY: test-wasm
test-wasm: $(VENV)/.installed ## Check that WebAssembly gives the native digests
	@tools/wasm_ready.sh || exit 0; \
	set -x; \
	$(CARGO) build --locked --release --target wasm32-unknown-unknown -p tailback-wasm; \
	$(BIN)/python tools/wasm_digest.py $(WASM)

.PHONY: check
check: $(VENV)/.tested ## Check format, lints, types and the stubs, warnings as errors
	@tools/rust_components.sh rustfmt clippy
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest tailback._native
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps --quiet

.PHONY: format
format: $(VENV)/.tested ## Put all sources into the common format
	$(CARGO) fmt --all
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format

.PHONY: audit
audit: $(BIN)/python ## Check licences and known advisories of everything that is pinned
	tools/audit.sh $(PYTHON)

.PHONY: lock
lock: ## Renew the pinned versions and hashes in requirements/
	tools/lock.sh $(PYTHON)

.PHONY: check-bounds
check-bounds: $(VENV)/.installed ## Run the Python tests with the oldest versions that pyproject.toml allows
	$(BIN)/python tools/check_bounds.py

.PHONY: validate
validate: $(VENV)/.tested ## Run the long tests too (random networks, every claim, TCP against ns-2, policies against Linux)
	$(CARGO) test --locked --profile validate $(TESTED_CRATES) -- --include-ignored
	$(BIN)/python -m pytest -m "slow or not slow"
	tools/fuzz.sh 60
	tools/miri.sh
	$(BIN)/python validation/tcp.py --out $(OUT)/validation
	$(BIN)/python validation/linux/compare.py --out $(OUT)/validation

# The witness of `validate`, which skips the comparison without it.
.PHONY: kernel
kernel: $(OUT)/validation/kernel/linux ## Build a Linux kernel in virtual time for `validate` (5 to 10 minutes of two cores)

$(OUT)/validation/kernel/linux:
	validation/linux/build_kernel.sh $(dir $@)

# An hour for each target; `make fuzz FUZZ_SECONDS=600` ten minutes.
FUZZ_SECONDS ?= 3600
.PHONY: fuzz
fuzz: ## Fuzz the readers of documents, assignments, traces, studies and router configurations
	tools/fuzz.sh $(FUZZ_SECONDS)

# --- Measurements -----------------------------------------------------------------------------------------------

.PHONY: bench
bench: $(VENV)/.installed ## Measure packet-hops per CPU second, and instructions per packet-hop
	$(CARGO) build --locked --release -p tailback-bench
	$(BIN)/python tools/bench.py --binary $(TARGET)/release/tailback-bench --tailback $(BIN)/tailback --out $(OUT)/bench.md

.PHONY: bench-peers
bench-peers: ## Measure ns-2, ns-3 and the bare C engine in turn with ours
	$(CARGO) build --locked --release -p tailback-bench
	$(PYTHON) tools/bench_peers.py --binary $(TARGET)/release/tailback-bench --build $(TARGET)/peers --out $(OUT)/bench-peers.md

.PHONY: bench-disciplines
bench-disciplines: $(VENV)/.installed ## Count the instructions that each queue discipline takes per packet
	$(CARGO) build --locked --release -p tailback-bench
	$(BIN)/python tools/bench_disciplines.py --binary $(TARGET)/release/tailback-bench --out $(OUT)/bench-disciplines.md

# Goes on where it was stopped; a new program is measured anew. PERFORMANCE="--parts instructions" measures only a part.
PERFORMANCE ?=
.PHONY: performance
performance: $(VENV)/.installed ## Measure this version and write the tables of docs/performance.md (minutes)
	$(CARGO) build --locked --release -p tailback-bench
	$(BIN)/python tools/performance.py --binary $(TARGET)/release/tailback-bench $(PERFORMANCE)

.PHONY: bench-sweep
bench-sweep: $(VENV)/.tested ## Measure how busy a sweep keeps the processors, on threads and on Dask
	$(BIN)/python tools/sweep_load.py

# --- Packages ---------------------------------------------------------------------------------------------------

.PHONY: wheel
wheel: $(VENV)/.installed ## Build a wheel and a source package, and test the wheel without Rust
	rm -rf dist
	$(BIN)/maturin build --release --locked --sdist --out dist
	$(BIN)/python tools/check_wheel.py dist

.PHONY: clean
clean: ## Remove everything that the other targets made
	rm -rf $(VENV) $(OUT) dist target .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f python/tailback/_native*.so
	find python tools -name __pycache__ -type d -prune -exec rm -rf {} +
