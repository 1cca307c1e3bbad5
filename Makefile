# Every target prepares what it needs in .venv by itself; a bare checkout with make and Python >= 3.11
# is enough. Repeats cost nothing: stamps say what is installed.

.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
JOBS ?= 2
PYTEST_ARGS ?=
BENCH_ARGS ?=
PROOF_ARGS ?=

.PHONY: help setup demo test test-fast test-clients clients-environment compatibility serving-environment test-serving test-proof test-browser coverage check lint formatting types layers spelling architecture \
	format bench proof bench-gate-overhead docs generate clean

help: ## show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 32

$(VENV)/.stamp-package: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed; set PYTHON=/path/to/python3." >&2; exit 1; }
	@test -x $(BIN)/python || { echo "creating $(VENV)" >&2; $(PYTHON) -m venv $(VENV) || { \
		echo "'$(PYTHON) -m venv' failed; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }; }
	@echo "installing mcp-offload into $(VENV)" >&2
	@$(PIP) install --upgrade 'pip>=25.1'
	@$(PIP) install --editable '.[search]'
	@touch $@

$(VENV)/.stamp-dev: $(VENV)/.stamp-package
	@echo "installing what development needs into $(VENV)" >&2
	@$(PIP) install --group dev
	@touch $@

setup: $(VENV)/.stamp-dev ## create .venv with the package and all that development needs

demo: $(VENV)/.stamp-package ## walk a real debugging task over stdio and print what it cost
	@$(BIN)/mcp-offload demo

test: $(VENV)/.stamp-dev ## run every test but the benchmarks
	@$(BIN)/python -m pytest -n $(JOBS) $(PYTEST_ARGS)

test-fast: $(VENV)/.stamp-dev ## run the tests that start no process and take no time
	@$(BIN)/python -m pytest -n $(JOBS) -m "not (bench or process or slow or corpus or clients or serving or proof or browser)" $(PYTEST_ARGS)

clients-environment: $(VENV)/.stamp-dev ## prepare what the tests of clients need in .venvs
	@$(BIN)/python -m tests.clients.node prepare
	@$(BIN)/python -m tests.clients.environments prepare

test-clients: clients-environment ## run real clients and frameworks, in environments made for them in .venvs
	@$(BIN)/python -m pytest -m clients $(PYTEST_ARGS)

compatibility: clients-environment ## run real clients and frameworks, and write what ran at which version
	@$(BIN)/python -m pytest -m clients --record-compatibility $(PYTEST_ARGS)
	@$(BIN)/python -m tests.clients.compatibility

serving-environment: $(VENV)/.stamp-dev ## install vLLM for the CPU and write the models that its tests serve
	@$(BIN)/python -m tests.serving.models

test-serving: $(VENV)/.stamp-dev ## run a real vLLM on the CPU, in an environment made for it in .venvs
	@$(BIN)/python -m pytest -m serving $(PYTEST_ARGS)

test-proof: serving-environment ## run examples, benchmarks and part of the proof on a real vLLM, small
	@$(BIN)/python -m pytest -m proof $(PYTEST_ARGS)

test-browser: $(VENV)/.stamp-dev ## open the gate's page in Chromium; needs Debian's chromium and chromium-driver
	@$(BIN)/python -m pytest -m browser $(PYTEST_ARGS)

coverage: $(VENV)/.stamp-dev ## run every test and show the lines none of them ran
	@$(BIN)/python -m pytest -n $(JOBS) --cov --cov-report=term-missing $(PYTEST_ARGS)

check: lint formatting types layers spelling architecture ## lint, formatting, types, layers, spelling, sizes

lint: $(VENV)/.stamp-dev
	$(BIN)/ruff check .

formatting: $(VENV)/.stamp-dev
	$(BIN)/ruff format --check .

types: $(VENV)/.stamp-dev
	$(BIN)/pyright

layers: $(VENV)/.stamp-dev
	$(BIN)/lint-imports --no-logo

spelling: $(VENV)/.stamp-dev
	$(BIN)/codespell

architecture: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest -q -p no:randomly tests/architecture

format: $(VENV)/.stamp-dev ## rewrite what the formatter and the safe fixes can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.stamp-dev ## measure; every figure is a ratio to a floor of the same run
	@$(BIN)/python -m tests.benchmarks --write docs/benchmarks.md $(BENCH_ARGS)

bench-gate: $(VENV)/.stamp-dev ## run agents against vLLM's scheduler on a simulated node, with and without leases
	@$(BIN)/python -m tests.benchmarks.gate --write docs/benchmarks-gate.md $(BENCH_ARGS)

bench-gate-overhead: $(VENV)/.stamp-dev ## measure what the gate adds to an engine
	@$(BIN)/python -m serving.bench.overhead --write docs/benchmarks-serving.md $(BENCH_ARGS)

bench-replay: $(VENV)/.stamp-dev ## replay a scripted agent raw and with mcp-offload, where the corpus is at hand
	@$(BIN)/python -m tests.benchmarks.replay --write docs/benchmarks.md $(BENCH_ARGS)

bench-peers: $(VENV)/.stamp-dev ## the same with two peers as well, in environments made for them in .venvs
	@$(BIN)/python -m tests.benchmarks.replay --systems raw context-mode ctxtual ours \
		--write docs/benchmarks.md $(BENCH_ARGS)

proof: serving-environment ## work on five tasks raw and with mcp-offload, on vLLM for the CPU; --peers: and two peers
	@$(BIN)/python -m tests.benchmarks.proof --write docs $(PROOF_ARGS)

score: $(VENV)/.stamp-dev ## rate digests against logs with known answers, where those are at hand
	@$(BIN)/python -m tests.score.score_logs

docs: $(VENV)/.stamp-dev ## write docs/reference anew from the code
	@$(BIN)/python docs/reference/generate.py
	@$(BIN)/python docs/how-to/clients/generate.py
	@$(BIN)/python docs/how-to/frameworks/generate.py
	@$(BIN)/python -m tests.clients.compatibility

generate: $(VENV)/.stamp-dev ## record the answers that the front gives at once anew
	@$(BIN)/python -m mcp_offload.server.snapshot

clean: ## remove the environment and every cache
	rm -rf $(VENV) .venvs build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage*
