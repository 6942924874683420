PYTHON ?= python3
PORT ?= 8000

# Kept out of the recipes' text and from make's own expansion, so that any character in a file name is safe.
export BOOK_PRICES := $(value PRICES)
export BOOK_TOPIC := $(value TOPIC)
export BOOK_PARAMS := $(value PARAMS)
export BOOK_ONLY := $(value ONLY)
export BOOK_RATE := $(value RATE)
export BOOK_GPUS := $(value GPUS)
export BOOK_CASE := $(value CASE)
export BOOK_COMPARE := $(value COMPARE)
export BOOK_ROWS := $(value ROWS)
export BOOK_OUT := $(value OUT)
export BOOK_CATALOGS := $(value CATALOGS)
export BOOK_PORT := $(value PORT)
export BOOK_SEED := $(value SEED)
unexport PRICES TOPIC PARAMS ONLY RATE GPUS CASE COMPARE ROWS OUT CATALOGS PORT SEED
export PIP_DISABLE_PIP_VERSION_CHECK := 1

IN_VENV := .venv/bin/python
BUILD := $(IN_VENV) -m book.build
# The project has no hash, and what builds it is pinned with the rest.
INSTALL := $(IN_VENV) -m pip install --quiet --no-build-isolation -e
# What any of book, check, answer and notebook may be given.
GIVEN := --prices="$$BOOK_PRICES" --only="$$BOOK_ONLY" --rate="$$BOOK_RATE" --gpus="$$BOOK_GPUS" --case="$$BOOK_CASE"

# The notebook that the tests run in Jupyter's own kernel too; all are compared with the run that the book is made from.
NBVAL := kv_cache

# What decide and report may be given besides.
BESIDE := --compare="$$BOOK_COMPARE" --rows="$$BOOK_ROWS"

.PHONY: book check answer decide report test test-all lint notebook prices measure lab serve pdf epub wheel bench accept clean

book: .venv/ready
	@$(BUILD) $(GIVEN)

check: .venv/ready
	@$(BUILD) --check $(GIVEN)

answer: .venv/ready
	@$(BUILD) --answer="$$BOOK_TOPIC" $(GIVEN)

decide: .venv/ready
	@$(IN_VENV) -m gpucalc decide $(GIVEN) $(BESIDE) --report="$$BOOK_OUT"

report: .venv/ready
	@$(IN_VENV) -m gpucalc decide $(GIVEN) $(BESIDE) --report="$${BOOK_OUT:-report.html}"

# What test leaves out, test-all runs too, on random cases that are new each time or of SEED; the last lines of a run say how many
# tests that is. What Python compiles is kept, so that only the first run has to.
test: CHOSEN := -m "not long" --seed="$$BOOK_SEED"
test-all: CHOSEN := --seed="$${BOOK_SEED:-new}"
test-all: NBVAL += arithmetic_intensity training_memory interconnect break_even
test test-all: export PYTHONDONTWRITEBYTECODE :=
test test-all: .venv/ready lint
	-@$(IN_VENV) -m tests.browser
	@$(IN_VENV) -m pytest -rs -n auto --maxprocesses 4 --dist loadscope --no-loadscope-reorder $(CHOSEN) \
	  --nbval tests $(NBVAL:%=notebooks/%.ipynb)

lint: .venv/ready
	@$(IN_VENV) -m ruff check --quiet .
	@$(IN_VENV) -m ruff check --quiet --preview --select E1,E2,E3,W .

notebook: .venv/ready
	@$(BUILD) --notebook="$$BOOK_TOPIC" --params="$$BOOK_PARAMS" $(GIVEN)

# Installs the extra `prices` of pyproject.toml where it is missing; where that fails, the refresh says why.
prices: .venv/ready
	@$(IN_VENV) -c 'import gpuhunt' 2>/dev/null || \
	  said=$$($(INSTALL) '.[prices]' 2>&1) || export BOOK_PIP_SAID="$$said"; \
	  $(IN_VENV) -m book.prices.refresh --catalogs="$$BOOK_CATALOGS" --text="$$BOOK_OUT"

# Installs the extra `measure` of pyproject.toml where it is missing; nothing else needs it.
measure: .venv/ready
	@$(IN_VENV) -c 'import torch' 2>/dev/null || \
	  { echo "Installing PyTorch into .venv (once) ..."; $(INSTALL) '.[measure]'; }
	@$(IN_VENV) data/measure.py

# Installs the extra `lab` of pyproject.toml where it is missing; nothing else needs it.
lab: .venv/ready
	@$(IN_VENV) -c 'import jupyterlab' 2>/dev/null || \
	  { echo "Installing JupyterLab into .venv (once) ..."; $(INSTALL) '.[lab]'; }
	@$(IN_VENV) -m jupyter lab --notebook-dir=. $(if $(filter 0,$(shell id -u)),--allow-root) notebooks

serve: book
	@$(IN_VENV) -m book.build.serve "$$BOOK_PORT"

# Installs the extra `pdf` of pyproject.toml where it is missing; nothing else needs it.
pdf epub: book
	@$(IN_VENV) -c 'import playwright, pypdf' 2>/dev/null || \
	  { echo "Installing pypdf into .venv (once) ..."; $(INSTALL) '.[pdf]'; }
	@$(IN_VENV) -m tests.browser
	@$(IN_VENV) -m book.build.paper $@

wheel: .venv/ready
	@$(IN_VENV) -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir _build/dist .

bench: .venv/ready
	@$(IN_VENV) -m tests.bench

accept: .venv/ready
	@$(BUILD) --accept

clean:
	rm -rf _build .pytest_cache .hypothesis

.venv/ready: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "This needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Installing the pinned requirements into .venv (once, about a minute) ..."
	@$(PYTHON) -m venv .venv
	@$(IN_VENV) -m pip install --quiet --require-hashes -r requirements.txt
	@$(INSTALL) .
	@touch $@
