# Each target does its own set-up: a fresh machine with Python 3.11 or newer needs nothing else.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Exact versions for development: snapshot pictures depend on them. `pip install .` does not use this file.
PINS   := constraints.txt

.PHONY: demo test check bench screenshots torture clean

$(VENV)/.installed: pyproject.toml $(PINS)
	$(PYTHON) -c 'import sys; sys.exit("pony-memory needs Python 3.11 or newer; set PYTHON=...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(PINS) -e '.[dev]'
	@touch $@

$(VENV)/.bench: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(PINS) -e '.[bench]'
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/pony-memory tui --demo

check: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	$(BIN)/python -m pytest -n 2 -m 'not torture'

torture: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2 -m torture

bench: $(VENV)/.bench
	$(BIN)/python -m bench

screenshots: $(VENV)/.installed
	$(BIN)/python screenshots/make.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
