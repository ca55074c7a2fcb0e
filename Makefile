# `make demo` and `make test` do everything, on a machine that has only python3 with pip and venv.

PYTHON ?= python3
NAME ?=
BIN := .venv/bin
STAMP := .venv/installed
PIP := $(BIN)/python -m pip --quiet --quiet --no-input --disable-pip-version-check --retries 10
# A package index that fails for a moment can look like a conflict of versions, so each step is tried twice.
INSTALL = $(PIP) install --constraint constraints.txt $(1) || { sleep 5; $(PIP) install --constraint constraints.txt $(1); }
# The versions of constraints.txt with the hashes of their files. Nothing else is resolved or fetched by it.
LOCKED = $(PIP) install --require-hashes --no-deps --only-binary :all: --requirement requirements.lock 2>/dev/null

.PHONY: help demo test check docs dist install clean

help:
	@echo "make demo    train on built-in data and show what was learnt (NAME=dates for the second demo)"
	@echo "make test    run the tests"
	@echo "make check   run format, lint, types and tests, as a change must pass them"
	@echo "make docs    build these pages into a searchable offline site, build/site"
	@echo "make dist    build the wheel, the source archive and an SBOM (CycloneDX) into dist"
	@echo "make clean   remove .venv and caches"

demo: $(STAMP)
	@$(BIN)/seqloom demo $(NAME)

test: $(STAMP)
	@$(BIN)/python -m pytest --numprocesses auto

check: $(STAMP)
	@scripts/check

docs: $(STAMP)
	@$(call INSTALL,--editable '.[docs]')
	@$(BIN)/python scripts/site

dist: $(STAMP)
	@$(call INSTALL,--editable '.[dist]')
	@rm -rf dist
	@$(BIN)/python -m build --outdir dist . >/dev/null
	@$(BIN)/python scripts/licenses > dist/licenses.txt
	@$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible --output-file dist/sbom.cdx.json $(BIN)/python
	@ls dist

install: $(STAMP)

clean:
	rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml constraints.txt requirements.lock
	@command -v "$(PYTHON)" >/dev/null || { echo "make: $(PYTHON) was not found; install Python 3.11 or newer, or name it with make PYTHON=..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: $$($(PYTHON) --version) is too old; Seqloom needs Python 3.11 or newer, which can be named with make PYTHON=..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || { echo "make: $(PYTHON) cannot make virtual environments; install its venv module (on Debian: apt install python3-venv)" >&2; exit 1; }
	@echo "Creating .venv"
	@"$(PYTHON)" -m venv .venv
	@echo "Installing Seqloom and what it needs, PyTorch the largest part"
	@$(LOCKED) || { echo "make: requirements.lock does not cover this machine; installing the same versions without its hashes" >&2; $(call INSTALL,torch); }
	@$(call INSTALL,--editable '.[dev]')
	@touch $@
