# What a newcomer types. `make` alone lists the targets; each one does all its own set-up.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/bin
ENVIRONMENT := .venv/.environment
ENGINE := src/loadstone/_engine.abi3.so

# In CI a Cargo.lock that does not fit the manifests is an error; at the desk cargo mends it.
LOCKED := $(if $(CI),--locked)
# The engine's sources, and what decides how they are built.
ENGINE_SOURCES := Cargo.toml $(wildcard Cargo.lock rust-toolchain.toml) pyproject.toml \
	$(shell find crates -name target -prune -o -type f \( -name '*.rs' -o -name '*.toml' -o -name '*.lua' \) -print)
# Python that is checked: only folders that hold some.
PYTHON_PATHS := $(foreach path,src tests tools benches faults,$(if $(shell find $(path) -name '*.py' -print -quit 2>/dev/null),$(path)))

# The null server as a program of its own; cargo knows whether its sources have changed.
NULL_SERVER := null-server

# A wheel for it is cross-built.
OTHER_MACHINE := $(if $(filter aarch64,$(shell uname -m)),x86_64,aarch64)

# What make test runs of the tests of the program (tests/lanes.py), and with how many workers: more than cores, since much
# of a test of a server is waiting (docs/decisions/0025).
QUICK := not (server or slow or sysbench or ray or timing) or smoke
WORKERS := $(shell echo $$(( $$(nproc) + 3 )))
PYTEST := $(BIN)/pytest -n $(WORKERS) --durations=25 $(if $(COVERAGE),--cov=loadstone --cov-append --cov-report=)

# The environment's own interpreter answers PyO3's questions, so that all cargo calls share what they built.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PYO3_BUILD_EXTENSION_MODULE := 1
export VIRTUAL_ENV := $(CURDIR)/.venv
# OpenSSL, for what old servers speak, comes from the system where it is there to link with; building it takes minutes.
ifeq ($(shell pkg-config --exists 'openssl >= 1.1.1' 2>/dev/null && echo here),here)
export OPENSSL_NO_VENDOR := 1
endif
# Images of containers often set it: then each worker would rewrite the asserts of all tests anew, at every start.
unexport PYTHONDONTWRITEBYTECODE
# Tests, benchmarks and pages must not depend on the defaults of whoever runs them.
export LOADSTONE_CONFIG :=

.PHONY: help demo demo-server build test test-all test-rust test-quick test-python test-slow test-cluster test-server test-servers null-server coverage lint lint-python lint-rust fmt bench faults trials proofs recipes servers trust soak nightly docs dist deb packages release lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

demo: demo-server build ## start a throwaway server, climb a ladder of virtual users, show where the peak is
	@$(BIN)/loadstone demo

demo-server:
	@tools/setup server

build: $(ENGINE) ## make .venv with the program and its engine (release mode)

test: test-server test-rust test-quick ## run the tests that each change needs: 8 minutes

test-all: test-servers test-rust ## run every test except the long ones of make nightly, on all servers and on Ray: 25 minutes
	@$(MAKE) --no-print-directory test-python

test-rust: $(ENVIRONMENT) ## run the engine's tests
	@tools/setup rust
	$(if $(CI),LOADSTONE_FUZZ_SECONDS=7) $(if $(COVERAGE),tools/coverage rust,cargo test $(LOCKED) --workspace)

test-quick: build test-server $(NULL_SERVER) ## run the quick tests of the program, and one of each main job on a real server
	$(PYTEST) -m "$(QUICK)"

test-python: build test-servers $(NULL_SERVER) ## run all tests of the program, on all servers and on Ray
	@tools/setup cluster
	$(PYTEST) -m "not nightly"

test-slow: build test-servers $(NULL_SERVER) ## run what make test leaves out
	@tools/setup cluster
	$(PYTEST) -m "not ($(QUICK)) and not nightly"

test-cluster: build $(NULL_SERVER) ## run the tests of many machines, on real Ray: installs it into .venv
	@tools/setup cluster
	$(BIN)/pytest -m ray tests/cluster

coverage: ## show how much of src and of the crates is covered by the tests run with COVERAGE=1
	@tools/coverage report

# First of all, so that a missing package is named before anything takes minutes.
test-server:
	@tools/setup packages mariadb-server-core sysbench
	@tools/setup browser

test-servers: test-server
	@tools/setup other-servers

null-server: $(ENVIRONMENT)
	@tools/setup rust
	@cargo build $(LOCKED) --release --quiet --package loadstone-null-server

lint: lint-python lint-rust ## run every check that needs no server

lint-python: build
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy $(PYTHON_PATHS)
	$(BIN)/lint-imports
	$(BIN)/python -m tools.prose
	@tools/check-workflows
	cd src && ../$(BIN)/stubtest loadstone._engine --mypy-config-file ../pyproject.toml

lint-rust: $(ENVIRONMENT)
	@tools/setup rust-lint
	cargo fmt --all --check
	cargo clippy $(LOCKED) --workspace --all-targets -- -D warnings
	@tools/check-dependencies

fmt: $(ENVIRONMENT) ## format Python and Rust
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format
	cargo fmt --all

bench: build ## measure the program's own cost, compared with sysbench
	@tools/setup packages mariadb-server-core sysbench
	$(BIN)/python -m benches

trials: build ## compare servers with a known difference, hundreds of times: half an hour
	@tools/setup packages mariadb-server-core
	$(BIN)/python -m benches trials

proofs: build test-servers ## find three field causes on real servers and measure the cost of each: 15 minutes
	$(BIN)/python -m benches proofs

recipes: build test-servers ## run every recipe with --quick (or NAMES="tls os-upgrade") and keep the folders: an hour
	@tools/run-recipes $(if $(OLD),--old "$(OLD)") $(NAMES)

faults: build test-servers ## inject faults into real servers and check which ones the diagnosis names (DRAWN=40: drawn ones, 1 to 3 minutes each; KEEP=1)
	$(if $(DRAWN),@tools/setup old-servers)
	$(BIN)/python -m faults $(if $(DRAWN),--drawn $(DRAWN) $(if $(KEEP),--keep))

servers: build test-servers ## try every release of MySQL and MariaDB that there is, and write the table of docs/servers.md: an hour
	@tools/setup old-servers
	@tools/setup packages sysbench
	$(BIN)/pytest -m servers --write-table tests/servers

trust: build test-servers ## test the promises of docs/reliability.md, and print them with their figures (JSON=1: for programs)
	@tools/setup cluster || echo "without Ray what it keeps and shows is not evaluated" >&2
	@$(BIN)/python -m tools.trust $(if $(JSON),--json)

soak: build ## run an hour at 2,000 users with a fault every minute (or MINUTES=10)
	@tools/setup packages mariadb-server-core
	$(BIN)/python -m benches soak --minutes $(or $(MINUTES),60)

nightly: build test-servers $(NULL_SERVER) ## run the long forms of the tests of make test-all, and a soak of ten minutes: an hour and a half
	@tools/setup old-servers
	@tools/setup bare-systems
	@$(MAKE) --no-print-directory packages
	$(PYTEST) -m "nightly and not servers"
	LOADSTONE_FUZZ_MUTANTS=48 $(BIN)/pytest tests/trust/test_hostile_runs.py
	LOADSTONE_NIGHTLY=1 $(BIN)/pytest --timeout 3600 tests/trust/test_faults_in_a_run.py tests/trust/test_killed.py tests/trust/test_interleavings.py \
		tests/null_server/test_ten_thousand.py
	for version in 17 18; do tools/get-postgres $$version >/dev/null && LOADSTONE_POSTGRES=$$version \
		$(BIN)/pytest tests/postgres/test_pgbench.py tests/postgres/test_sysbench.py || exit 1; done
	$(BIN)/python -m benches observing
	$(BIN)/python -m benches soak --minutes 10

docs: build ## build the site of the documentation into site/, and check its links
	@tools/docs

# The program itself writes its manual pages, with its version in them: it is built first.
dist: build ## build dist/: a wheel for Linux with glibc 2.17, and a bundle for hosts without a network (CHECK=1: twice, and compare; MACHINE=aarch64: cross-built)
	@tools/setup cross $(or $(MACHINE),$(shell uname -m))
	@tools/setup dist
	@tools/dist $(if $(CHECK),--check) $(if $(CLUSTER),--cluster) $(if $(FOR),--python $(FOR)) $(if $(MACHINE),--machine $(MACHINE))
	$(BIN)/pytest -m "not nightly" tests/shipping

deb: build ## build a Debian package in dist/ of the wheel that is there, for Debian 12 and 13
	@tools/setup packages binutils dpkg-dev lintian
	@tools/deb

# What make nightly installs on bare systems; what cannot be built is skipped there, with its reason.
packages: build
	@tools/setup dist
	@tools/dist
	@tools/setup packages binutils dpkg-dev lintian && tools/deb || echo "no Debian package: its tests are skipped" >&2
	@tools/setup cross $(OTHER_MACHINE) && tools/dist --machine $(OTHER_MACHINE) || echo "no wheel for $(OTHER_MACHINE): its tests are skipped" >&2

release: $(ENVIRONMENT) ## make release VERSION=1.2.3: commit, build twice, sign and tag; nothing is uploaded
	@$(BIN)/python -m tools.release prepare $(VERSION)
	@$(MAKE) --no-print-directory dist CHECK=1
	@$(MAKE) --no-print-directory dist CHECK=1 MACHINE=$(OTHER_MACHINE)
	@$(MAKE) --no-print-directory deb
	@$(BIN)/python -m tools.release seal

lock: $(ENVIRONMENT) ## compile requirements/*.txt again from pyproject.toml and requirements/*.in
	@tools/lock

clean: ## remove build results; keeps fetched servers in .cache and runs
	rm -rf .venv target .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	rm -rf dist site docs/reference LICENSE-THIRD-PARTY.txt packaging/wheel/data
	rm -f src/loadstone/_engine*.so
	find src tests benches faults tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(ENVIRONMENT): $(wildcard requirements/*.txt)
	@tools/setup environment

$(ENGINE): $(ENVIRONMENT) $(ENGINE_SOURCES)
	@tools/setup rust
	$(BIN)/maturin develop --release --uv --quiet $(LOCKED)
	@touch $@
