# Every target works from nothing: make and Python 3.11 or newer are all that must be there.
# What is installed goes into .venv; a second run finds its stamp and starts at once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --editable

TEST_PROCESSES ?= 2
PYTEST_ARGS ?=
BENCH_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test test-oldest check mutants bench docs format clean java chromium

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.base ## see a private table answered, end to end, with receipts
	$(BIN)/sordino demo

test: $(VENV)/.dev java chromium ## run every test, Spark and a browser included (PYTEST_ARGS="-k ledger" passes more to pytest)
	$(BIN)/python -m pytest --numprocesses=$(TEST_PROCESSES) --dist=loadgroup $(PYTEST_ARGS)

test-oldest: java chromium ## every test with the oldest supported release of every dependency
	@scripts/make-venv.sh "$(PYTHON)" .venv-oldest
	@.venv-oldest/bin/python scripts/oldest-constraints.py > .venv-oldest/constraints.txt
	@.venv-oldest/bin/python -m pip install -qq --disable-pip-version-check --editable '.[dev]' -c .venv-oldest/constraints.txt
	.venv-oldest/bin/python -m pytest --numprocesses=$(TEST_PROCESSES) --dist=loadgroup $(PYTEST_ARGS)

check: $(VENV)/.dev ## style, types and the laws of the house
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m pytest --quiet tests/test_architecture.py

mutants: $(VENV)/.dev ## plant bugs that give people away in the real code; each must be caught
	$(BIN)/python -m pytest --numprocesses=$(TEST_PROCESSES) tests/test_mutants.py

bench: $(VENV)/.dev ## measure time and memory; results go to benchmarks/results/
	$(BIN)/python benchmarks/run.py $(BENCH_ARGS)

docs: $(VENV)/.dev ## build the documentation site into build/docs; warnings are errors
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs build/docs
	@echo "Open build/docs/index.html"

format: $(VENV)/.dev ## rewrite the source in the house style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## remove all that these targets made, .venv too
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist sordino-demo
	find . -path ./.git -prune -o -name __pycache__ -prune -exec rm -rf {} +

java:
	@scripts/ensure-java.sh

chromium:
	@scripts/ensure-chromium.sh

$(VENV)/.made:
	@scripts/make-venv.sh "$(PYTHON)" $(VENV)
	@touch $@

$(VENV)/.base: pyproject.toml | $(VENV)/.made
	@echo "Installing sordino into $(VENV): once, a minute or two."
	@$(PIP_INSTALL) '.[plots]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.made
	@echo "Installing sordino and its development tools into $(VENV): once, a few minutes."
	@$(PIP_INSTALL) '.[dev]'
	@touch $@ $(VENV)/.base
