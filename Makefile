# Waypost's commands. `make help` lists them; each sets up what it needs and is quick the second time.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# `make test-unit PYTHON=python3.13` leaves a .venv of another Python alone and makes .venv-3.13 beside it.
ifeq ($(MAKELEVEL),0)
VENV := $(if $(PYTHON),$(shell tools/which-venv "$(PYTHON)"),.venv)
endif
VENV ?= .venv
PYTHON ?= python3
export PYTHON VENV

BIN := $(VENV)/bin
# Debian packages that tests need. (Python's own come from requirements-dev.lock.)
TEST_PACKAGES := chromium curl gcc gdal-bin libc6-dev nghttp2-client nginx-light openssl postgresql redis-server spin wrk
# Half of the tests' time is waiting for servers and processes: two of them a core keep the cores busy.
TEST_PROCESSES := $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))

.PHONY: help
help: ## list these commands
	@echo "Waypost: make TARGET"
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)$$/\1\t\2/p' Makefile | while IFS=$$'\t' read -r target text; do printf '  %-12s %s\n' "$$target" "$$text"; done

.PHONY: setup
setup: ## install Waypost into .venv, so that .venv/bin/waypost runs
	@tools/install-python requirements.lock

.PHONY: setup-dev
setup-dev:
	@tools/install-python requirements-dev.lock

.PHONY: up
up: setup ## run everything in one process: simulated provider, import, map and links (ARGS="--port 9000")
	@exec $(BIN)/waypost up $(ARGS)

.PHONY: test
test: ## run every test, on real servers and a real browser (ARGS="-k phrases")
	@tools/install-system $(TEST_PACKAGES)
	@tools/install-python requirements-dev.lock
	@tools/install-node tests/e2e/maplibre
	@echo "running the tests"
	@exec $(BIN)/pytest --numprocesses $(TEST_PROCESSES) --dist worksteal $(ARGS)

.PHONY: test-unit
test-unit: setup-dev ## run the tests that need no server and no browser (ARGS="-k phrases" PYTHON=python3.13)
	@echo "running the unit tests"
	@exec $(BIN)/pytest tests/unit --numprocesses auto $(ARGS)

.PHONY: flaky
flaky: ## run every test many times, half of them on a busy machine, and list what failed how often (RUNS=6 ARGS="-k phrases")
	@tools/install-system $(TEST_PACKAGES)
	@tools/install-python requirements-dev.lock
	@tools/install-node tests/e2e/maplibre
	@exec $(BIN)/python tools/flaky.py $(if $(RUNS),--runs $(RUNS)) $(ARGS)

.PHONY: chaos
chaos: ## kill, stop, cut off and mislead workers and their stores, with many seeds (SEEDS=20 ARGS="-k redis")
	@tools/install-system $(TEST_PACKAGES)
	@tools/install-python requirements-dev.lock
	@echo "running the drills"
	@exec $(BIN)/pytest chaos tests/unit/scaling/ratelimit/test_fleet.py --numprocesses auto $(ARGS)

.PHONY: drill-import
drill-import: ## import 200,000 places from a bad provider while workers are killed and stopped (SEEDS=10 ARGS="--store sqlite --seed 7")
	@tools/install-system $(TEST_PACKAGES)
	@tools/install-python requirements-dev.lock
	@PYTHONPATH=tests $(BIN)/python -m drills.importing $(ARGS)

.PHONY: drill-visits
drill-visits: ## follow links 200,000 times while servers are killed and stopped, and count the visits (SEEDS=10 ARGS="--store sqlite")
	@tools/install-system $(TEST_PACKAGES)
	@tools/install-python requirements-dev.lock
	@PYTHONPATH=tests $(BIN)/python -m drills.visits $(ARGS)

.PHONY: check
check: setup-dev ## format, lint, types and import rules, without the network
	@echo "ruff format"; $(BIN)/ruff format --check --quiet .
	@echo "ruff check"; $(BIN)/ruff check --quiet .
	@echo "mypy"; $(BIN)/mypy --no-error-summary
	@echo "import-linter"; $(BIN)/lint-imports --no-cache

.PHONY: proof
proof: ## check the models of the lease protocol with Spin, and that each rule left out breaks one
	@tools/install-system spin gcc libc6-dev
	@tools/proof

.PHONY: bench-jobs
bench-jobs: ## measure jobs beside other queues on one PostgreSQL (BENCH_FULL=1, PYTHON312=python3.12 for Oban)
	@tools/install-system $(TEST_PACKAGES)
	@tools/install-python requirements-dev.lock
	@tools/install-bench
	@PYTHONPATH=tests $(BIN)/python -m bench.jobs $(if $(BENCH_FULL),--full) $(ARGS)

.PHONY: bench-budget
bench-budget: ## measure budgets beside other rate limiters on one Redis, and draw the arrivals
	@tools/install-system $(TEST_PACKAGES)
	@tools/install-python requirements-dev.lock
	@tools/install-bench
	@PYTHONPATH=tests $(BIN)/python -m bench.budget $(ARGS)

.PHONY: bench-import
bench-import: ## measure imports beside dlt and a bare loop, into PostgreSQL and SQLite (BENCH_FULL=1: a million places)
	@tools/install-system $(TEST_PACKAGES)
	@tools/install-python requirements-dev.lock
	@tools/install-bench
	@PYTHONPATH=tests $(BIN)/python -m bench.importing $(if $(BENCH_FULL),--full) $(ARGS)

.PHONY: bench-large
bench-large: ## import and refresh five million places from a file, in each store (ARGS="--store sqlite --places 1000000")
	@tools/install-system $(TEST_PACKAGES)
	@tools/install-python requirements-dev.lock
	@PYTHONPATH=tests $(BIN)/python -m bench.importing.large $(ARGS)

.PHONY: bench-places
bench-places: ## measure places served beside tipg, pygeoapi, SQLite and nginx (BENCH_FULL=1: also ten million places)
	@tools/install-system $(TEST_PACKAGES) postgresql-15-postgis-3
	@tools/install-python requirements-dev.lock
	@tools/install-bench
	@PYTHONPATH=tests $(BIN)/python -m bench.places $(if $(BENCH_FULL),--full) $(ARGS)

.PHONY: bench-links
bench-links: ## measure links followed and made beside nginx and other shorteners (BENCH_FULL=1: up to ten million links)
	@tools/install-system $(TEST_PACKAGES)
	@tools/install-python requirements-dev.lock
	@tools/install-bench
	@PYTHONPATH=tests $(BIN)/python -m bench.links $(if $(BENCH_FULL),--full) $(ARGS)

.PHONY: bench-connections
bench-connections: ## measure idle connections, and redirects and probes among ten thousand of them (ARGS="--connections 15000")
	@tools/install-python requirements-dev.lock
	@PYTHONPATH=tests $(BIN)/python -m bench.connections $(ARGS)

.PHONY: screenshots
screenshots: ## draw the README's picture again from the running product
	@tools/install-system chromium
	@tools/install-python requirements-dev.lock
	@$(BIN)/python tools/screenshots.py

.PHONY: pictures
pictures: setup ## draw the architecture pictures again from the code
	@$(BIN)/python -m tools.pictures

.PHONY: lock
lock: ## write the hashed locks anew (needs uv and the network)
	@tools/lock
