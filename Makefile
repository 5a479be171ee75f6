# SPDX-License-Identifier: MIT
# Two commands do everything on a fresh Debian-like system, system packages included (as root):
# `make demo` and `make test`. The C sources are listed in clib/build.mk, the extension's in setup.py.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# PYTHON=python3.12  the interpreter .venv is made with
# PACKAGES=skip      do not install or insist on system packages
# ARGS="..."         handed on to what demo, bench, serve and the test targets run
export PYTHON PACKAGES
ARGS :=

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip --quiet --disable-pip-version-check
PYTEST := $(PY) -m pytest
CLANG ?= $(firstword $(notdir $(shell command -v clang clang-14 clang-16 clang-19 2>/dev/null)) clang)
JOBS := $(shell nproc 2>/dev/null || echo 2)

PY_DIRS := setup.py pybind tests $(wildcard experiments)
C_FILES = $(shell find clib dashboard pybind tests/c -name '*.[ch]')
# Directories are listed as well: their time changes when a file comes or goes.
BUILD_INPUTS := $(shell find clib dashboard -type d -o -type f) $(wildcard pybind/*.[ch])

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: build ## build, then a real contention experiment with the live page; ends by itself
	@$(PY) -m locklab.demo $(ARGS)

.PHONY: test test-quick test-slow
test: build test-needs ## build, then the tests (up to 5 minutes)
	$(PYTEST) -m "not slow" $(ARGS)

test-quick: build ## most tests, without browser, sanitizers, mutants, demo (under 1 minute)
	$(PYTEST) -m "not slow and not browser and not leak and not sanitizer" $(NOT_QUICK) $(ARGS)

NOT_QUICK := $(addprefix --ignore=tests/test_,adding_a_lock.py api_demo.py experiments.py mutants.py)

test-slow: build test-needs ## the long tests that `make test` leaves out
	$(PYTEST) -m slow $(ARGS)

.PHONY: build
build: packages-build $(VENV)/.installed ## system packages, .venv and the extension: a working .venv/bin/locklab

.PHONY: bench
bench: build ## the performance tables, side by side with libck, glibc and hand-written locks
	@$(PY) tests/bench/run.py $(ARGS)

.PHONY: serve
serve: build ## the dashboard on its own; prints its URL
	@$(BIN)/locklab serve $(ARGS)

.PHONY: lint lint-style lint-types lint-c-gcc lint-c-clang
lint: lint-style lint-c-gcc lint-c-clang lint-types ## formatting, ruff, mypy, stubtest, C without warnings (gcc, clang)

lint-style: $(VENV)/.pinned
	@echo clang-format --dry-run -Werror, $(words $(C_FILES)) files
	@$(BIN)/clang-format --dry-run -Werror $(C_FILES)
	$(BIN)/ruff check $(PY_DIRS)
	$(BIN)/ruff format --check $(PY_DIRS)

lint-types: build
	$(BIN)/mypy
	$(PY) -m mypy.stubtest locklab._core --mypy-config-file pyproject.toml \
	    --allowlist .ci/stubtest-allowlist --ignore-unused-allowlist

lint-c-gcc: build
	$(call warning_free,gcc)

lint-c-clang: build packages-lint
	$(call warning_free,$(CLANG))

# clib, its test programs, the binding and the server, with warnings as errors.
define warning_free
	$(MAKE) --no-print-directory -s -f clib/build.mk -j$(JOBS) BUILD=build/lint-$(1) CC=$(1) WERROR=1 lib ctests
	CC=$(1) LOCKLAB_WERROR=1 LOCKLAB_BUILD=build/lint-$(1) $(PY) setup.py -q build_ext \
	    --build-lib build/lint-$(1)/lib --build-temp build/lint-$(1)/ext
endef

.PHONY: format
format: $(VENV)/.pinned ## rewrite C and Python sources in the project's style
	@$(BIN)/clang-format -i $(C_FILES)
	$(BIN)/ruff check --fix $(PY_DIRS)
	$(BIN)/ruff format $(PY_DIRS)

.PHONY: clean
clean: ## remove what was built (keeps .venv and node_modules)
	rm -rf build dist pybind/*.egg-info pybind/locklab/static pybind/locklab/_core*.so
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis $(VENV)/.installed

# --- how it gets there -------------------------------------------------------------------------

.PHONY: packages-build packages-test packages-lint
packages-build packages-test packages-lint: packages-%:
	@.ci/packages $*

$(VENV)/.pinned: requirements-dev.lock | packages-build
	$(PY) -m pip --version >/dev/null 2>&1 || "$$(.ci/find-python)" -m venv --clear $(VENV)
	$(PIP) install --require-hashes -r $<
	@touch $@

# The wheel build of setup.py would fetch uPlot alone; the browser tests need the rest as well.
.PHONY: test-needs
test-needs: packages-build packages-test
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory node_modules/.complete; fi

node_modules/.complete: package.json package-lock.json
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

$(VENV)/.installed: $(VENV)/.pinned setup.py pyproject.toml package-lock.json $(BUILD_INPUTS)
	$(PIP) install --no-build-isolation --no-deps -e .
	@for note in build/left-out/*; do \
	    [ ! -e "$$note" ] || printf '\n*** LEFT OUT of this build: %s\n' "$$(cat "$$note")" >&2; \
	done
	@touch $@

ifeq ($(wildcard pybind/locklab/_core*.so),)
.PHONY: $(VENV)/.installed
endif
