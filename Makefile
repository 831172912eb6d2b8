# `make demo` and `make test` set everything up first. uv is used where it is installed, pip otherwise.
.DEFAULT_GOAL := help
.PHONY: help demo test test-all tests lint types coverage lock test-services test-adapters check docs shots bench clean

PYTHON ?= python3
BIN := .venv/bin
UV := $(shell command -v uv 2>/dev/null)

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 15

# Installs again whenever pyproject.toml changes.
.venv/ready: pyproject.toml
ifdef UV
	test -x $(BIN)/python || uv venv --quiet --python $(PYTHON) .venv
	uv pip install --quiet --python $(BIN)/python --editable . --group dev
else
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
endif
	@touch $@

demo: .venv/ready  ## audit the datasets that come with METAL; JUDGE=openai:gpt-4o-mini adds a real judge, after asking
	@$(BIN)/metal demo --out runs/demo
ifdef JUDGE
	$(BIN)/metal judge datasets/demo --judge "$(JUDGE)" --prompt simple,detailed --out "runs/demo-$(notdir $(subst :,-,$(JUDGE)))" --ask
	$(BIN)/metal audit datasets/demo "runs/demo-$(notdir $(subst :,-,$(JUDGE)))" --out runs/demo-judged --force
endif

lint: .venv/ready
	$(BIN)/ruff check metal tests examples
	$(BIN)/ruff format --check metal tests examples

types: lint
	$(BIN)/mypy

check: types  ## lint and types

# Three processes for two cores: many tests wait for a browser, a cluster or a server of theirs. Hundreds of processes
# read what is compiled: once, even where the environment forbids Python to keep it.
tests: export PYTHONDONTWRITEBYTECODE :=
tests: export OMP_NUM_THREADS := 1
tests: export OPENBLAS_NUM_THREADS := 1
tests: lint
	$(BIN)/python -m pytest -n 3 --dist worksteal $(SOME)

test: .venv/ready  ## lint, types and the tests but the slow ones
	$(MAKE) --jobs=2 types tests SOME='-m "not slow"'

test-all: .venv/ready  ## lint, types and every test, as CI runs them
	$(MAKE) --jobs=2 types tests

# Lines and branches, of processes that tests start too; twice as slow as without. The floor is in pyproject.toml.
coverage: .venv/ready  ## the tests once more, with the branches they reach; FOLDERS="tests/stats tests/audit" for some
	$(BIN)/coverage erase
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report= $(FOLDERS)
	$(BIN)/coverage report $(if $(FOLDERS),--fail-under=0)

# Names, versions and hashes only: no index, so that the file is right whatever mirror somebody uses.
lock:  ## the versions of requirements-dev.txt anew, the newest that pyproject.toml allows; needs uv
	uv lock --no-config --upgrade --quiet
	echo "# Written by \`make lock\`; CONTRIBUTING.md says what for." > requirements-dev.txt
	uv export --no-config --frozen --group dev --no-emit-project --no-annotate --no-header --quiet >> requirements-dev.txt
	@rm uv.lock

# The site's own pages, then those that METAL makes: the gallery's page has the commands.
docs: .venv/ready  ## the documents as a site, in site/
	$(BIN)/zensical build --strict --clean
	sed -n '/^```bash/,/^```/{/^```/d;p}' docs/gallery.md | PATH="$(CURDIR)/$(BIN):$$PATH" sh -e >/dev/null

# Label Studio wants other versions of what METAL needs, so that it lives beside.
.services/bin/label-studio:
ifdef UV
	uv venv --quiet --python $(PYTHON) .services
	uv pip install --quiet --python .services/bin/python label-studio
else
	$(PYTHON) -m venv .services
	.services/bin/python -m pip install --quiet label-studio
endif

test-services: .venv/ready .services/bin/label-studio  ## against the real Label Studio, which is installed in .services
	METAL_LABEL_STUDIO=$(CURDIR)/.services/bin/label-studio $(BIN)/python -m pytest -m services tests/services

# Each package wants versions of its own: ragas an openai below METAL's, DeepEval older click and rich, and plug-ins of
# pytest; inspect_ai older boto3 and fsspec, and 25 s of `make test`. ragas 0.4.3 imports what later versions of
# langchain-community lack.
FROM_NPM := .adapters/promptfoo/node_modules/.bin
ADAPTERS := inspect_ai deepeval ragas argilla label_studio_sdk lm_eval
.adapters/ragas/ready: BESIDE := 'langchain-community<0.4.2'
.adapters/argilla/ready: BESIDE := requests
$(ADAPTERS:%=.adapters/%/ready): .adapters/%/ready: pyproject.toml
ifdef UV
	test -x .adapters/$*/bin/python || uv venv --quiet --python $(PYTHON) .adapters/$*
	uv pip install --quiet --python .adapters/$*/bin/python --editable . pytest hypothesis $* $(BESIDE)
else
	test -x .adapters/$*/bin/python || $(PYTHON) -m venv .adapters/$*
	.adapters/$*/bin/python -m pip install --quiet --editable . pytest hypothesis $* $(BESIDE)
endif
	@touch $@

# promptfoo comes from npm, 1.6 GB with what it needs. It runs on Node 22.22 or later, which is installed beside it; its
# tests say what is missing.
.adapters/promptfoo/ready:
	mkdir -p $(@D)
	! command -v npm >/dev/null || npm install --silent --no-audit --no-fund --prefix $(@D) promptfoo@latest node@22
	@touch $@

test-adapters: .venv/ready $(ADAPTERS:%=.adapters/%/ready) .adapters/promptfoo/ready  ## other packages as they are: their judges, and files for them; each in .adapters
	for name in $(ADAPTERS); do .adapters/$$name/bin/python -m pytest -rs -p no:asyncio -o filterwarnings=default -k $$name tests/adapters || exit 1; done
	PATH="$(CURDIR)/$(FROM_NPM):$$PATH" METAL_PROMPTFOO=$(CURDIR)/$(FROM_NPM)/promptfoo $(BIN)/python -m pytest -rs -k promptfoo tests/adapters

shots: .venv/ready  ## pages of many sizes as pictures, in runs/shots
	$(BIN)/python -m tests.shots

bench: .venv/ready  ## speed, as ratios against named peers; how often verdicts are wrong
	$(BIN)/python -m tests.bench.figures
	$(BIN)/python -m tests.bench.tokens
	$(BIN)/python -m tests.bench.tables
	$(BIN)/python -m tests.bench.judging --cache .bench
	$(BIN)/python -m tests.bench.monitor
	$(BIN)/python -m tests.bench.consensus
	$(BIN)/python -m tests.bench.verdicts
	$(BIN)/python -m tests.bench.many
	$(BIN)/python -m tests.bench.design
	$(BIN)/python -m tests.bench.language_bias
	$(BIN)/python -m tests.bench.severity
	$(BIN)/python -m tests.bench.coverage --times 100
	$(BIN)/python -m tests.bench.beyond_chance --times 300
	$(BIN)/python -m tests.bench.drift
	$(BIN)/python -m tests.bench.boards
	$(BIN)/python -m tests.bench.corrected
	$(BIN)/python -m tests.bench.adjudication
	$(BIN)/python -m tests.bench.selection
	$(BIN)/python -m tests.bench.probes
	$(BIN)/python -m tests.bench.battery
	$(BIN)/python -m tests.bench.scale
	$(BIN)/python -m tests.bench.app
	$(BIN)/python -m tests.bench.serving
	$(BIN)/python -m tests.bench.growth --calls 1000

clean:  ## remove the environment and caches
	rm -rf .venv .services .adapters .cache site build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
