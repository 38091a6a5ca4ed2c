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
NODE_MCP := .node-mcp
QUICKSTARTS := .venv-quickstarts

.PHONY: setup frameworks phoenix mcp-client quickstarts lock demo test check bench bench-peers deploy-check soak docs screenshots clean

# $(call locked,FOLDER,NAME): an environment of what requirements/NAME.txt lists; each file is checked by its hash.
define locked
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python $(PYTHON) $(1) && \
		uv pip install --quiet --python $(1)/bin/python --no-deps --require-hashes -r requirements/$(2).txt; \
	else \
		$(PYTHON) -m venv $(1) && \
		$(1)/bin/python -m pip install --quiet --no-deps --require-hashes -r requirements/$(2).txt; \
	fi
endef

setup: $(STAMP)

$(STAMP): pyproject.toml requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tracejury needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	@echo 'Installing into $(VENV): about 300 MB to download; half a minute with uv, more than a minute with pip ...'
	$(call locked,$(VENV),dev)
	@if command -v uv >/dev/null 2>&1; then \
		uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .; \
	else \
		$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .; \
	fi
	@touch $@

frameworks: $(FRAMEWORKS)/.installed

# Agent frameworks with versions of their own, for tests/sdk/frameworks: a quarter of a gigabyte.
$(FRAMEWORKS)/.installed: requirements/frameworks.txt
	$(call locked,$(FRAMEWORKS),frameworks)
	@touch $@

phoenix: $(PHOENIX)/.installed

# Arize Phoenix, a backend of others, for tests/collector/outbound/otlp/test_phoenix.py: 0.9 gigabytes.
$(PHOENIX)/.installed: requirements/phoenix.txt
	$(call locked,$(PHOENIX),phoenix)
	@touch $@

mcp-client: $(NODE_MCP)/.installed

# The MCP SDK for TypeScript, for tests/collector/mcp: 29 megabytes, by npm.
$(NODE_MCP)/.installed:
	npm install --prefix $(NODE_MCP) --no-save --ignore-scripts --no-audit --no-fund --silent @modelcontextprotocol/sdk@1.32.2
	@touch $@

# Runs the programs of docs/quickstart, also those that no lock holds: CrewAI, Google ADK, AutoGen, the Vercel AI SDK and
# TypeScript, 1.5 gigabytes at the versions that the pages name.
quickstarts: setup frameworks
	TRACEJURY_QUICKSTARTS=$(CURDIR)/$(QUICKSTARTS) $(BIN)/python -m pytest -q -n 0 tests/sdk/quickstart

# Renews the locks after a change of dependencies (with LOCK_ARGS=--upgrade all versions), by uv. One version for each
# Python and platform, wheels alone, so that no unchecked tool is downloaded for a build.
LOCK := uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
	--only-binary :all: --emit-build-options --no-annotate --custom-compile-command 'make lock' $(LOCK_ARGS)
lock:
	$(LOCK) pyproject.toml --extra embedded --extra kafka --extra llm --extra mcp --group build -o requirements/runtime.txt
	$(LOCK) pyproject.toml --extra embedded --extra kafka --extra llm --extra mcp --group dev -c requirements/runtime.txt -o requirements/dev.txt
	$(LOCK) --group frameworks -o requirements/frameworks.txt
	$(LOCK) --group phoenix -o requirements/phoenix.txt

demo: setup
	$(BIN)/tracejury demo $(DEMO_ARGS)

test: setup
	$(BIN)/python -m pytest -q -n auto --dist worksteal $(TEST_ARGS)

check: setup
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/mypy tests --explicit-package-bases && $(BIN)/lint-imports

bench: setup
	$(BIN)/python tests/bench/judging.py ../shared/data/trail/gaia-dev --chats 100 200 400 800
	$(BIN)/python tests/bench/growing.py
	$(BIN)/python tests/bench/ingest.py --passes 30
	$(BIN)/python tests/bench/ingest.py --passes 30 --protocol http
	$(BIN)/python tests/bench/ingest.py --passes 20 --spans 32
	$(BIN)/python tests/bench/secured.py --passes 10 --rounds 5
	$(BIN)/python tests/bench/commit.py
	$(BIN)/python tests/bench/clusters.py
	$(BIN)/python tests/bench/latency.py
	$(BIN)/python tests/bench/small.py
	$(BIN)/python tests/bench/fair.py
	$(BIN)/python tests/bench/open_trace.py
	$(BIN)/python tests/bench/webhook.py
	$(BIN)/python tests/bench/lists.py --of look-ups
	$(BIN)/python tests/bench/lists.py
	$(BIN)/python tests/bench/pages.py
	$(BIN)/python tests/bench/overview.py
	$(BIN)/python tests/bench/forwarding.py
	$(BIN)/python tests/bench/transcripts.py ../shared/data/trail/gaia-dev
	$(BIN)/python tests/bench/panel_cost.py
	$(BIN)/python tests/bench/ledger.py
	$(BIN)/python tests/bench/rates.py
	$(BIN)/python tests/bench/performance.py
	$(BIN)/python tests/bench/sdk.py

# Beside the OpenTelemetry Collector, which Go builds from its module proxy into ~/.cache/tracejury-bench.
bench-peers: setup
	$(BIN)/python tests/bench/peers.py --until-judged $(BENCH_ARGS)

# What checks deploy/: Helm, kubeconform, schemas and an OpenTelemetry Collector, which Go builds from its module proxy
# into ~/.cache (four minutes of CPU at first). Renews the renderings of the chart.
deploy-check: setup
	$(BIN)/python tests/support/deploy_tools.py
	$(BIN)/python tests/support/helm_chart.py
	$(BIN)/python -m pytest -q -n 0 tests/deploy

soak: setup
	$(BIN)/python tests/bench/kill.py --rounds 4
	$(BIN)/python tests/bench/rounds.py
	$(BIN)/python tests/bench/rounds.py --without-kafka --rounds 12
	$(BIN)/python tests/bench/damage.py
	$(BIN)/python tests/bench/backup.py
	$(BIN)/python tests/bench/overload.py
	$(BIN)/python tests/bench/panel.py
	$(BIN)/python tests/bench/attacks.py
	$(BIN)/python tests/bench/key_timing.py
	$(BIN)/python tests/bench/growth.py
	$(BIN)/python tests/bench/sustained.py
	$(BIN)/python -m pytest -q -n auto --dist worksteal --hypothesis-profile soak --timeout 900

docs: setup
	$(BIN)/python -m tracejury.collector.cli.config_docs > docs/.configuration.md
	mv docs/.configuration.md docs/configuration.md
	$(BIN)/python tests/support/licences.py > docs/.licences.md
	mv docs/.licences.md docs/licences.md

screenshots: setup
	$(BIN)/python tests/screenshots.py

clean:
	rm -rf $(VENV) $(FRAMEWORKS) $(PHOENIX) $(NODE_MCP) $(QUICKSTARTS) .tracejury .mypy_cache .ruff_cache .pytest_cache
