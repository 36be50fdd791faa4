# Needs only a Python >= 3.11, git and make; everything else goes into .venv.
#
#   make demo PORT=9651      crawl the example on other ports
#   make test PYTHON=/path   use this Python for .venv
#   make test AT_ONCE=1      one test after the other

SHELL := /bin/sh
BIN := .venv/bin
PORT := 8651
AT_ONCE := 3
PYTHON = $(shell for name in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { command -v "$$name"; break; }; done)

.DEFAULT_GOAL := help
.PHONY: help demo test check docs floors lint format clean

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1|\2/p' Makefile | awk -F'|' '{ printf "%-12s %s\n", $$1, $$2 }'

demo: .venv/installed ## crawl the example sites twice and show what was found
	@$(BIN)/python .ci/bootstrap.py browser
	@if [ -s .venv/browser ]; then export WEBSEGMENT_CHROMIUM="$$(cat .venv/browser)" render=always; \
	else echo "Without a browser the site built by JavaScript stays empty."; render=never; fi; \
	cd example_project && ../$(BIN)/python -m demo --port $(PORT) --render "$$render"

test: .venv/installed ## check style and types, then run all tests (browser, Redis)
	@$(BIN)/python .ci/bootstrap.py browser --required
	@$(BIN)/python .ci/bootstrap.py redis
	@$(MAKE) --no-print-directory lint
	@export WEBSEGMENT_CHROMIUM="$$(cat .venv/browser)"; \
	$(BIN)/python -m pytest -n $(AT_ONCE) --dist loadfile --no-loadscope-reorder || { status=$$?; \
	[ "$$status" -eq 1 ] || exit "$$status"; \
	echo "Those that failed beside others are run once more, one after the other:"; \
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none; }

check: lint ## check style and types, and run the tests that are done in a minute
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -q -m "not slow"

docs: .venv/installed ## build the documentation as a site, in site/; warnings are errors
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --clean --quiet
	@echo "site/index.html"

floors: .venv/installed ## measure the pages of the accuracy gate and raise their floors
	@$(BIN)/python -m tests.gate

lint: .venv/installed ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/installed ## format the code and repair what ruff can repair
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove the demo's results, caches and builds (rm -r .venv removes the rest)
	rm -f example_project/*.db example_project/*.db-wal example_project/*.db-shm
	rm -rf build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf example_project/.scrapy example_project/results
	find . -name .venv -prune -o -type d -name __pycache__ -exec rm -rf {} +

.venv/installed: pyproject.toml
	@python="$(PYTHON)"; if [ -z "$$python" ]; then \
	echo "No Python >= 3.11 was found: install one, or name it with make PYTHON=/path/to/python" >&2; \
	exit 1; fi; "$$python" .ci/bootstrap.py install
	@touch $@
