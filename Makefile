# Each target makes the virtual environment it needs; PYTHON chooses the interpreter,
# JOBS how many processes run the tests, PORT where the page is served, MINUTES how long
# campaigns of kills, changed files and load go on, SEED which changes are made, EACH how many
# bugs `make mutants` puts into each area.
PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
JOBS ?= 2
PORT ?= 8000
MINUTES ?= 20
SEED ?= 0
EACH ?= 40

.PHONY: demo serve test check crash fuzz soak mutants format docs dist clean

demo: $(INSTALLED)
	$(BIN)/labelgrove demo

serve: $(INSTALLED)
	test -d labelgrove-demo || $(BIN)/labelgrove demo
	$(BIN)/labelgrove serve labelgrove-demo --port $(PORT)

test: $(READY)
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fuzz: $(READY)
	HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 $(BIN)/python benchmarks/reliability/fuzz.py --minutes $(MINUTES) --seed $(SEED)

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY)
	$(BIN)/python -m sphinx -q -W --keep-going -b html -c docs -d build/doctrees . build/docs
	@echo "open build/docs/index.html"

dist: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt build twine
	rm -rf dist
	$(BIN)/pyproject-build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*

crash: $(READY)
	$(BIN)/python benchmarks/reliability/crash.py --minutes $(MINUTES)

soak: $(READY)
	$(BIN)/python benchmarks/reliability/soak.py --minutes $(MINUTES)

mutants: $(READY)
	$(BIN)/python benchmarks/reliability/mutants.py --each $(EACH) --jobs $(JOBS)

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[service]"
	touch $(INSTALLED)

$(READY): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) labelgrove-demo build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache
