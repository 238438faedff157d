# The two commands that do everything on a fresh Debian machine: `make run` and `make test`.
SHELL := /bin/bash
VENV  ?= .venv
BIN    = $(VENV)/bin
PYTEST = $(BIN)/python -m pytest
N     ?= 1000

.PHONY: help run down test test-unit test-engines test-new-engines check format simulate bench docs clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

$(BIN)/podsync: pyproject.toml tools/setup.sh
	@tools/setup.sh $(VENV)
	@touch $@

$(VENV)/.dev: pyproject.toml tools/setup.sh
	@tools/setup.sh $(VENV) dev
	@touch $@ $(BIN)/podsync

run: $(BIN)/podsync  ## Set up, find or start an engine, run the example pods
	@tools/run-examples.sh $(BIN)/podsync

down: $(BIN)/podsync  ## End the example pods again
	@tools/run-examples.sh $(BIN)/podsync down

test: $(VENV)/.dev check  ## Everything the tests need, and all tests on this distribution's engines
	@tools/with-engines.sh tools/test.sh $(BIN)

test-unit: $(VENV)/.dev  ## Only what needs no engine
	$(PYTEST) -n 2 tests/unit tests/simulation tests/test_architecture.py

test-engines: $(VENV)/.dev  ## Only what needs engines: contract and end-to-end tests
	@tools/with-engines.sh $(PYTEST) -n 4 tests/contract tests/e2e

test-new-engines: $(VENV)/.dev  ## The same on Docker 29 and Podman 5.7 (built once, 10 to 15 minutes)
	@PODSYNC_ENGINES=new tools/with-engines.sh $(PYTEST) -n 4 tests/contract tests/e2e

check: $(VENV)/.dev  ## Lint, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tests/typing/api.py
	$(BIN)/lint-imports

format: $(VENV)/.dev  ## Format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

simulate: $(VENV)/.dev  ## Drive the whole agent on a virtual clock: make simulate N=10000
	PODSYNC_SIMULATE=$(N) $(PYTEST) tests/simulation --timeout 0

bench: $(VENV)/.dev  ## Compare with bare engine calls and podman kube play
	@tools/with-engines.sh $(BIN)/python -m bench

docs: $(VENV)/.dev  ## Generate what is generated: docs/fields.md and the JSON Schema
	$(BIN)/python -m podsync.manifest.fields > docs/fields.md
	$(BIN)/python -m podsync.manifest.schema > podsync/manifest/pod.schema.json

clean:  ## Remove the environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist build
