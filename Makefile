# Every task of the project; `make help` lists them. Plain recipes: each can be copied to a shell.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
# The interpreter behind a shim or a virtual environment: uv makes .venv anew whenever it is told another name for it.
INTERPRETER = "$$("$(PYTHON)" -c 'import sys; print(sys._base_executable)')"
UV_VERSION := 0.13.8
UV := .uv/bin/uv
BIN := .venv/bin
export UV_PROJECT_ENVIRONMENT := .venv
# The interpreter that `make setup` checked, and no other.
export UV_PYTHON_DOWNLOADS := never
# Images of containers set it, and then every interpreter compiles all modules anew: half of what a command of ours takes.
unexport PYTHONDONTWRITEBYTECODE
# What the codec does not have by default.
CODEC_FEATURES := --features anabranch-raptorq/fountain,anabranch-raptorq/serde
# What `anabranch-net` does not have by default.
NET_FEATURES := --features anabranch-net/tokio
# What tests turn on in libraries, so that the documentation takes them as the lints have them.
CRATES := --workspace $(CODEC_FEATURES) $(NET_FEATURES) --features anabranch-py/as-tests

# How the extension is built: `release`, as users have it, or `tests`, with the profile and the features of the Rust tests, so that
# nothing is compiled twice. Checks and tests keep the one there is, and make the latter where there is none.
EXTENSION ?= release
BUILT_AS := .venv/extension
export MATURIN_PEP517_ARGS = $(if $(filter tests,$(EXTENSION)),--profile dev --features as-tests)
check test test-python test-trials test-cluster: EXTENSION = $(or $(shell cat $(BUILT_AS) 2>/dev/null),$(if $(wildcard python/anabranch/_core.abi3.so),release,tests))

# What users have is optimised by the profile of recorded runs, which takes a tenth off NDP and SCDP; tests are not optimised.
PROFILED = $(if $(filter tests,$(EXTENSION)),,"$(PYTHON)" tools/profile run)

# The instruction sets of this kind of processor; the tests use the best one there is where it lacks one of them.
CODEC_LEVELS := portable $(if $(filter x86_64,$(shell uname -m)),ssse3 avx2 avx2-gfni avx512,neon)
# What depends on them: the kernels, the solver that makes plans with them, known answers, whole objects.
CODEC_LEVEL_TESTS := kernels:: solve:: vectors:: levels::
CODEC_TESTS := reference:: vectors:: roundtrip:: allocation::

# Threads of the linear algebra wait for each other at full speed, for nothing: every processor has a test to run.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder --durations=10

HOST_TRIPLE = $(shell rustc -vV | sed -n 's/^host: //p')

.PHONY: help setup demo demo-net demo-lab scdp readme notebook test test-build test-python nightly wheel test-wheel test-trials test-papers test-cluster fidelity-traffic test-codec test-codec-levels test-codec-all test-net-all test-cases package public-api msrv miri check check-rust check-python format bench bench-codec bench-net bench-traffic bench-volumes bench-htsim bench-hpcc profile instructions clean

help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(UV) ## check what is needed, make .venv, build the simulator into it
	@$(PROFILED) "$(PYTHON)" tools/setup $(UV) sync --locked --python $(INTERPRETER)
	@echo $(EXTENSION) >$(BUILT_AS)

demo: setup ## run the demonstration: a table, and out/demo/report.html
	@$(BIN)/anabranch demo --force

demo-net: ## try scdp on this host: a file to three receivers, and from three servers of which one is killed
	cargo build --locked --release -p scdp-cli
	@"$(PYTHON)" tools/demo-net target/release/scdp

demo-lab: ## try scdp on a network of namespaces around a switch: to three receivers, and from three servers (Linux; root, or a kernel that lets users)
	cargo build --locked --release -p scdp-cli
	target/release/scdp lab labs/replicate.toml
	target/release/scdp lab labs/fetch.toml

scdp: ## build the program scdp as one static file, target/dist/scdp (Linux with glibc: runs on others, too)
	RUSTFLAGS="-C target-feature=+crt-static -C strip=symbols" cargo build --locked --release -p scdp-cli --target $(HOST_TRIPLE) --target-dir target/static
	install -D target/static/$(HOST_TRIPLE)/release/scdp target/dist/scdp

readme: setup ## run the demonstration and write its table and figure in README.md again
	@$(BIN)/anabranch demo --resume --force
	@$(BIN)/python tools/readme

notebook: setup ## run docs/tutorial/notebook.ipynb and keep what it shows
	$(UV) run --locked --no-sync --with nbclient==0.11.0 --with ipykernel==7.4.0 tools/notebook

test: setup ## run all tests, and tell the slowest ten in Rust and in Python
	@"$(PYTHON)" tools/test-rust --locked $(CRATES)
	$(PYTEST)

test-python: setup ## run the tests in Python
	$(PYTEST)

test-build: ## compile the Rust tests and run none
	cargo test --no-run --locked $(CRATES)

nightly: ## what CI runs once a day: long tests, the wheel, packages, instruction counts, benchmarks
	.ci/nightly

wheel: setup ## build a wheel that works without this folder: target/dist
	@rm -rf target/dist
	@$(PROFILED) "$(PYTHON)" tools/setup $(UV) build --wheel --out-dir target/dist

test-wheel: wheel ## install the wheel into a fresh environment elsewhere, and use it there; QUICK=1: run one scenario
	@tools/test-wheel $(UV) target/dist/*.whl $(INTERPRETER) $(if $(QUICK),--quick)

test-codec: ## test the RaptorQ codec whole with each of its instruction sets, and without std
	cargo test --locked -p anabranch-raptorq --no-default-features $(CODEC_FEATURES) --lib
	cargo test --locked -p anabranch-raptorq --no-default-features $(CODEC_FEATURES) --test all -- $(CODEC_TESTS)
	for level in $(CODEC_LEVELS); do \
	  echo "ANABRANCH_RAPTORQ_LEVEL=$$level"; \
	  export ANABRANCH_RAPTORQ_LEVEL=$$level; \
	  cargo test --locked -p anabranch-raptorq $(CODEC_FEATURES) --lib; \
	  cargo test --locked -p anabranch-raptorq $(CODEC_FEATURES) --test all -- $(CODEC_TESTS) levels::; \
	done

# Of the build that `make test` runs: nothing is compiled again.
test-codec-levels: ## test what depends on the codec's instruction sets with each of them in turn
	for level in $(CODEC_LEVELS); do \
	  echo "ANABRANCH_RAPTORQ_LEVEL=$$level"; \
	  ANABRANCH_RAPTORQ_LEVEL=$$level "$(PYTHON)" tools/test-rust --slowest 0 --locked $(CRATES) --tests -- $(CODEC_LEVEL_TESTS); \
	done

test-codec-all: ## the codec's long tests: every number of source symbols, and every class with another codec
	cargo test --locked --release -p anabranch-raptorq --test all -- --ignored --nocapture all_k:: interop::

test-net-all: ## the long test of SCDP sessions: ten thousand on networks with every fault
	cargo test --locked --release -p anabranch-host --test all -- --ignored --nocapture faults::

test-cases: ## the tests that draw their networks, with 400 of them each and the checks of a debug build
	PROPTEST_CASES=400 CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true \
	  cargo test --locked --release -p anabranch-transport -p anabranch-host -p anabranch-sim --lib --test all -- resuming:: losses:: invariants:: properties::

package: ## make and build the packages of the published crates, and check what is in them; nothing is uploaded
	@"$(PYTHON)" tools/package

public-api: ## compare the exports of the published crates with what is written down (needs a nightly Rust and cargo-public-api)
	@"$(PYTHON)" tools/public-api

msrv: ## build and test the published crates with the oldest Rust they promise to work with (needs rustup)
	@tools/msrv

miri: ## look for undefined behaviour in the codec with Miri (needs a nightly Rust with it)
	@tools/miri

test-trials: setup ## the long statistical tests: 200 trials of every model and mixture
	$(BIN)/pytest -m trials

test-papers: setup ## run every experiment of every paper in the quick size (minutes)
	$(BIN)/pytest -m papers -n auto tests/python/test_papers.py

test-cluster: setup ## the long test of sweeps over Dask: workers are killed 100 times
	$(BIN)/pytest -m kills

fidelity-traffic: setup ## the paper's claims on the traces in ../shared: makes the tables of docs/fidelity/traffic.md
	$(BIN)/python tests/python/traffic_fidelity.py

# Types are checked on one processor, for as long as the other lints the crates.
check: setup ## formatting, lints, types and layers of imports, without changing anything
	@$(MAKE) --no-print-directory --jobs 2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) check-rust check-python

check-rust:
	cargo fmt --all --check
	cargo clippy --locked $(CRATES) --all-targets -- -D warnings
	cargo clippy --locked -p anabranch-raptorq --no-default-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked $(CRATES) --no-deps
	@"$(PYTHON)" tools/public-api --names

check-python:
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

format: setup ## format everything
	cargo fmt --all
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: ## measure the simulator: speed and memory, and append to benches/RESULTS.md
	@benches/run

bench-codec: ## measure the RaptorQ codec next to another one, and put the tables into benches/RESULTS.md
	cargo bench --locked -p anabranch-raptorq --bench codec -- --record

bench-net: ## measure scdp on network namespaces next to TCP, QUIC, NORM, UFTP, udpcast and aria2, and append to benches/RESULTS.md (needs root)
	@benches/net

bench-volumes: setup ## measure the statistics of traffic volumes, into benches/RESULTS.md; PEER=PYTHON with powerlaw 1.5
	$(BIN)/python benches/volumes --record $(if $(PEER),--peer "$(PEER)")

bench-traffic: ## measure the reading of captures next to tcpdump, and append to benches/RESULTS.md
	@benches/traffic

bench-htsim: setup ## NDP, EQDS, RoCE, HPCC and Swift, and a ring all-reduce, beside htsim on the same matrix: make bench-htsim HTSIM=.../htsim_ndp, of csg-htsim, which you have built
	@benches/htsim "$(HTSIM)"

bench-hpcc: setup ## HPCC, DCQCN and TIMELY beside the simulator of HPCC's authors: make bench-hpcc HPCC=.../build/scratch/third, which you have built
	@benches/hpcc "$(HPCC)"

profile: setup ## make the profile that the compiler optimises the simulator by (10 minutes; needs rustup component add llvm-tools)
	@"$(PYTHON)" tools/profile make

instructions: ## compare instruction counts of small runs with the record (needs valgrind)
	@benches/instructions

-include tests/crosscheck/crosscheck.mk
-include tests/worlds/worlds.mk
-include tests/linux/linux.mk
-include tests/htsim/htsim.mk

clean: ## remove what the tasks make, results included
	rm -rf .venv .uv target out .pytest_cache .mypy_cache .ruff_cache .hypothesis python/anabranch/_core*.so python/anabranch/share
	find python tests benches -name __pycache__ -type d -prune -exec rm -rf {} +

# uv, pinned, from the package index, in an environment of its own: nothing is installed outside this folder.
$(UV): Makefile tools/check-tools
	@tools/check-tools "$(PYTHON)"
	@echo "installing uv $(UV_VERSION) into .uv" >&2
	@rm -rf .uv && "$(PYTHON)" -m venv .uv
	@.uv/bin/python -m pip install --quiet --disable-pip-version-check "uv==$(UV_VERSION)"
	@touch $(UV)
