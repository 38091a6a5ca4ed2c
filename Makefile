# Two commands matter to a newcomer: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
export PYTHONPATH := tests/support
# Images often set it; every process of the tests would then compile the project anew.
unexport PYTHONDONTWRITEBYTECODE
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

FRAMEWORKS := .venv-frameworks
PHOENIX := .venv-phoenix

.PHONY: setup frameworks phoenix demo test check bench soak docs screenshots clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tracejury needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	@echo 'Installing into $(VENV): about 300 MB to download; half a minute with uv, more than a minute with pip ...'
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && \
		uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[embedded,llm]' --group dev; \
	else \
		$(PYTHON) -m venv $(VENV) && \
		$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1' && \
		$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[embedded,llm]' --group dev; \
	fi
	@touch $@

frameworks: $(FRAMEWORKS)/.installed

# Agent frameworks with versions of their own, for tests/sdk/frameworks: a quarter of a gigabyte.
$(FRAMEWORKS)/.installed: pyproject.toml constraints-frameworks.txt
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python $(PYTHON) $(FRAMEWORKS) && \
		uv pip install --quiet --python $(FRAMEWORKS)/bin/python -c constraints-frameworks.txt --group frameworks; \
	else \
		$(PYTHON) -m venv $(FRAMEWORKS) && \
		$(FRAMEWORKS)/bin/python -m pip install --quiet --upgrade 'pip>=25.1' && \
		$(FRAMEWORKS)/bin/python -m pip install --quiet -c constraints-frameworks.txt --group frameworks; \
	fi
	@touch $@

phoenix: $(PHOENIX)/.installed

# Arize Phoenix, a backend of others, for tests/collector/outbound/otlp/test_phoenix.py: 0.9 gigabytes.
$(PHOENIX)/.installed: pyproject.toml constraints-phoenix.txt
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python $(PYTHON) $(PHOENIX) && \
		uv pip install --quiet --python $(PHOENIX)/bin/python -c constraints-phoenix.txt --group phoenix; \
	else \
		$(PYTHON) -m venv $(PHOENIX) && \
		$(PHOENIX)/bin/python -m pip install --quiet --upgrade 'pip>=25.1' && \
		$(PHOENIX)/bin/python -m pip install --quiet -c constraints-phoenix.txt --group phoenix; \
	fi
	@touch $@

demo: setup
	$(BIN)/tracejury demo $(DEMO_ARGS)

test: setup
	$(BIN)/python -m pytest -q -n auto --dist worksteal $(TEST_ARGS)

check: setup
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/mypy tests --explicit-package-bases && $(BIN)/lint-imports

bench: setup
	$(BIN)/python tests/bench/judging.py ../shared/data/trail/gaia-dev --chats 100 200 400 800
	$(BIN)/python tests/bench/ingest.py --passes 30
	$(BIN)/python tests/bench/ingest.py --passes 30 --protocol http
	$(BIN)/python tests/bench/ingest.py --passes 20 --spans 32
	$(BIN)/python tests/bench/secured.py --passes 10 --rounds 5
	$(BIN)/python tests/bench/commit.py
	$(BIN)/python tests/bench/latency.py
	$(BIN)/python tests/bench/webhook.py
	$(BIN)/python tests/bench/lookup.py
	$(BIN)/python tests/bench/lists.py
	$(BIN)/python tests/bench/pages.py
	$(BIN)/python tests/bench/overview.py
	$(BIN)/python tests/bench/forwarding.py
	$(BIN)/python tests/bench/transcripts.py ../shared/data/trail/gaia-dev
	$(BIN)/python tests/bench/panel_cost.py
	$(BIN)/python tests/bench/ledger.py
	$(BIN)/python tests/bench/rates.py

soak: setup
	$(BIN)/python tests/bench/kill.py --rounds 4
	$(BIN)/python tests/bench/damage.py
	$(BIN)/python tests/bench/overload.py
	$(BIN)/python tests/bench/panel.py
	$(BIN)/python tests/bench/attacks.py
	$(BIN)/python -m pytest -q -n auto --dist worksteal --hypothesis-profile soak --timeout 900

docs: setup
	$(BIN)/python -m tracejury.collector.cli.config_docs > docs/.configuration.md
	mv docs/.configuration.md docs/configuration.md

screenshots: setup
	$(BIN)/python tests/screenshots.py

clean:
	rm -rf $(VENV) $(FRAMEWORKS) $(PHOENIX) .tracejury .mypy_cache .ruff_cache .pytest_cache
