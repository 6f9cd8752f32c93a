# Two commands do all the set-up: `make demo` runs the main job, `make test` passes the tests.
PYTHON ?= python3
PORT ?= 8080
BIN := .venv/bin

.PHONY: setup demo test lint clean

setup: .venv/.ready

.venv/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Ausguck needs Python 3.11 or newer: set PYTHON=…"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/pip install --quiet --disable-pip-version-check --editable . --group dev
	touch $@

demo: setup
	$(BIN)/ausguck demo --port $(PORT)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/mypy --strict scorer
	$(BIN)/mypy vision device datasets
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
