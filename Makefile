# Everything runs in a virtual environment of its own, made here on first use; a stamp makes the second call quick.
# Needs Python 3.11 or later and make.

VENV := .venv
BIN := $(VENV)/bin
FRACTION ?= 1/20
CONFIG ?= experiments/configs/resnet50-conv-bn-relu.yaml
IS_NEW := -c 'import sys; sys.exit(sys.version_info < (3, 11))'
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p $(IS_NEW) 2>/dev/null && { echo $$p; break; }; done)

.PHONY: demo test test-long accuracy check clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed
	$(BIN)/stallscope run $(CONFIG)

test: check
	$(BIN)/python -m pytest -n 2 -q

# The long tests, a fraction of their cases: make test-long FRACTION=1/4
test-long: $(VENV)/.installed-test
	@echo "long tests: a fraction of $(FRACTION) of the cases (FRACTION=1 runs all)"
	STALLSCOPE_FRACTION=$(FRACTION) $(BIN)/python -m pytest -n 2 -q -m slow

accuracy: $(VENV)/.installed
	$(BIN)/python -m experiments.validation.page

check: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/.installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11 or later found; set PYTHON=/path/to/python" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
