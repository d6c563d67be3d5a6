# Works with Python 3.11 or newer, venv and make, and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

LOWEST := .venv-lowest

.PHONY: demo test test-all coverage test-lowest test-edges trust lint types bench bench-check docs examples gallery release-check clean

demo: $(VENV)/shown
	$(BIN)/decloak run scenarios/gallery/demo.yaml --store store.db
	$(BIN)/decloak run scenarios/gallery/clinic-methods.yaml --store store.db
	@rm -f demo.html
	$(BIN)/decloak report last --store store.db -o demo.html
	@echo "Next: $(BIN)/decloak advise scenarios/gallery/demo.yaml (other methods and settings for these records)"

# A process for each core, at most eight; WORKERS=0 runs all in one. Each takes a stretch of the tests, so that those of a
# file share what they start from, and from the others when it has done its own.
WORKERS ?= auto
AT_ONCE := -n $(WORKERS) --maxprocesses 8 --dist worksteal
ALL := -m "" --hypothesis-profile=all

test: $(VENV)/tested
	$(BIN)/python -m pytest $(AT_ONCE) $(TESTS)

# The slow tests too, and all the examples of Hypothesis, of which the others draw a fifth.
test-all: $(VENV)/tested
	$(BIN)/python -m pytest $(AT_ONCE) $(ALL) $(TESTS)

# The lines and branches of the engine that `make test` does not reach.
coverage: $(VENV)/developed
	$(BIN)/python -m pytest $(AT_ONCE) --cov --cov-report=term

# With the least versions that pyproject.toml declares of everything; TESTS may name files, all of them otherwise.
test-lowest: $(LOWEST)/tested
	$(LOWEST)/bin/python -m pytest $(AT_ONCE) $(TESTS)

# The files that meet other packages at their edges: pydantic, click and rich, sqlite-utils and networkx, pandas, polars,
# pyarrow and openpyxl, HanTa and wn, jinja2 and vl-convert, dask, numba, numpy and scipy. The others go by arrays alone.
EDGES := $(foreach name,pydantic scenario bad_input rules_load cli store stored_arrays graph readers tables writing text wordnet searchlog \
	report dask generalise strategies recovery lead transport statistics mining quickstart worked_example,$(wildcard tests/test_$(name).py tests/*/test_$(name).py))
test-edges: $(LOWEST)/tested
	$(LOWEST)/bin/python -m pytest $(AT_ONCE) $(EDGES)

# The promises of docs/explanation/trust.md, SECONDS each, less than half an hour in all; writes how often each was tried.
# TESTS may name some of them: `make trust TESTS="-k 'damaged or refused'"`.
SECONDS ?= 60
trust: $(VENV)/tested
	DECLOAK_TRUST_SECONDS=$(SECONDS) $(BIN)/python -m pytest -m "" tests/trust $(TESTS)

lint: $(VENV)/developed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-cache

types: $(VENV)/developed
	$(BIN)/mypy

# DATA may name files of transactions; without it data of the same shape are generated. REAL may name the folder of
# bms_webview1.dat.gz and bms_webview2.dat.gz for whole runs.
bench: $(VENV)/benched
	$(BIN)/python benchmarks/bench_eliminate.py --plot benchmarks/growth.svg
	$(BIN)/python benchmarks/bench_start.py
	$(BIN)/python benchmarks/bench_check.py $(if $(REAL),--data $(REAL)) --write
	$(BIN)/python benchmarks/bench_disassociation.py $(DATA)
	$(BIN)/python benchmarks/bench_reassociate.py
	$(BIN)/python benchmarks/bench_cover.py
	$(BIN)/python benchmarks/bench_cut.py $(DATA)
	$(BIN)/python benchmarks/bench_coat.py $(DATA)
	$(BIN)/python benchmarks/bench_corpus.py
	$(BIN)/python benchmarks/bench_counts.py
	$(BIN)/python benchmarks/bench_embedding.py
	$(BIN)/python benchmarks/bench_selftrained.py
	$(BIN)/python benchmarks/bench_store.py
	$(BIN)/python benchmarks/bench_whole.py $(if $(REAL),--data $(REAL)) --write
	$(BIN)/python benchmarks/bench_parts.py 10 --write
	$(BIN)/python benchmarks/bench_parts.py 1 --items 20000 --write

# Fails where a check takes a quarter more than benchmarks/checks.md says, beside the least that it needs, or a whole run
# than benchmarks/results.md says, in units that machines have in common.
bench-check: $(VENV)/benched
	$(BIN)/python benchmarks/bench_check.py $(if $(REAL),--data $(REAL)) --check
	$(BIN)/python benchmarks/bench_whole.py $(if $(REAL),--data $(REAL)) --check

docs: $(VENV)/installed
	$(BIN)/python docs/generate.py

# Runs the commands of the README and the pages, some minutes, and writes what they print; PAGES may name some of them.
# The picture in the README needs Chromium.
examples: $(VENV)/tested
	$(BIN)/python docs/examples.py $(PAGES)

# Runs every figure of the papers and writes docs/gallery.md with its pictures; what came of them goes with the scenarios,
# for `decloak gallery` to list. REAL may name a folder with real data, on which the figures then run too.
gallery: $(VENV)/tested
	$(BIN)/python benchmarks/gallery_page.py docs --run $(if $(REAL),--data $(REAL))
	cp docs/gallery/verdicts*.json scenarios/papers

# Whether this commit can be tagged as a release: see docs/how-to/release.md. Builds twice, some minutes.
release-check: $(VENV)/developed
	$(BIN)/python .ci/release_check.py

# The documentation as a site in docs/_site; a warning is an error. Its examples are run by `make test-all`.
site: $(VENV)/sited
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_site
	@echo docs/_site/index.html

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "decloak needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	$(BIN)/python -m compileall -q engine
	$(BIN)/decloak compile
	@touch $@

$(VENV)/shown $(VENV)/tested $(VENV)/developed $(VENV)/benched $(VENV)/sited: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRA)]'
	$(BIN)/python -m compileall -q engine
	$(BIN)/decloak compile
	@touch $@ $(VENV)/installed

$(VENV)/shown: EXTRA := report

$(LOWEST)/tested: pyproject.toml tests/lowest.py | $(BIN)/python
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python tests/lowest.py >$(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(LOWEST)/lowest.txt --editable '.[test]'
	@touch $@

$(VENV)/tested: EXTRA := test
$(VENV)/developed: EXTRA := dev
$(VENV)/benched: EXTRA := test,bench
$(VENV)/sited: EXTRA := docs,test

clean:
	rm -rf $(VENV) $(LOWEST) store.db store.db-wal store.db-shm demo.html dist
