.DEFAULT_GOAL := help
.PHONY: help demo test check lint golden corpus isolation bench figures soak clean

BIN := .venv/bin
INSTALLED := .venv/installed

# Before a command: tells Spark which Java to use, or stops with what to install.
WITH_JAVA = JAVA_HOME="$$(scripts/ensure-java)" && export JAVA_HOME &&

help:  ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

demo: $(INSTALLED)  ## See many queries run as one
	@$(WITH_JAVA) $(BIN)/gingham demo

test: lint  ## Check everything: formatting, lint, types, layers, tests
	$(WITH_JAVA) $(BIN)/pytest

check: lint test  ## The same as make test

lint: $(INSTALLED)  ## Check formatting, lint, types and layers
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	$(BIN)/lint-imports

golden: $(INSTALLED)  ## Write the plans that tests/planning expects anew
	$(BIN)/pytest tests/planning --rewrite

corpus: $(INSTALLED)  ## Ask Gingham and Spark thousands of queries and compare what they say
	$(WITH_JAVA) $(BIN)/python -m tests.corpus

isolation: $(INSTALLED)  ## Try every way to raise beside healthy queries, in batch runs and streams
	$(WITH_JAVA) GINGHAM_ISOLATION=all $(BIN)/pytest tests/system/test_isolation.py

bench: $(INSTALLED)  ## Run the benchmark NAME; without NAME, list the names
	$(if $(NAME),$(WITH_JAVA) )$(BIN)/python -m benchmarks $(NAME) $(OPTIONS)

figures: $(INSTALLED)  ## Draw every figure of the papers; stop it and it goes on from there
	$(WITH_JAVA) $(BIN)/python -m benchmarks.figures $(OPTIONS)

KILLS ?= 100
FREEZES ?= 20
CRASHES ?= 100
SEED ?= 1
soak: $(INSTALLED)  ## Kill streams 2 x KILLS (100) times, freeze them, damage their checkpoints
	$(WITH_JAVA) GINGHAM_KILLS=$(KILLS) GINGHAM_FREEZES=$(FREEZES) GINGHAM_SEED=$(SEED) \
		$(BIN)/pytest tests/crash
	$(WITH_JAVA) GINGHAM_KILLS=$(KILLS) GINGHAM_SEED=$(SEED) GINGHAM_ON_DRIVER=0 \
		$(BIN)/pytest tests/crash/test_kills.py
	$(WITH_JAVA) GINGHAM_CRASHES=$(CRASHES) GINGHAM_DAMAGE=all \
		$(BIN)/pytest tests/stream/test_exact.py tests/system/test_checkpoint_damage.py

clean:  ## Remove everything that make made
	rm -rf .venv build dist .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	rm -rf artifacts metastore_db spark-warehouse derby.log
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Gingham needs Python 3.11 or newer as python3; found: $$(python3 --version 2>&1)." \
			"Install one, or put it first in PATH, and run make again." >&2; exit 1; }
	python3 -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
