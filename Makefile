# Two commands for a fresh machine:
#     make         sets up .venv and runs the demo
#     make test    sets up .venv and runs the tests
# and for those who change the code:
#     make lint    ruff, mypy, the checks of the English and of docstrings, the package's size
#     make notebooks    sets up Jupyter and opens the first of them
#     make docs    the site, under docs/_build/html
#     make wheel   dist/*.whl with compiled kernels for two levels of x86-64 processors
#     make test-browser    the pages that minigrad makes, clicked through in Chromium
#     make test-jupyter    every notebook, run from top to bottom by Jupyter
#     make test-torch    what is compared with PyTorch, which it installs: its own samples, random programs
#     make test-libraries    what other libraries do with tensors: SciPy, pandas, ..., which it installs
#     make test-mpi    several processes that train together, with the MPI that it installs
#     make test-gpu    the tests of the CUDA backend on a real device, with what it needs

SHELL  := /bin/sh
PYTHON ?= python3
PY     := .venv/bin/python

# A stamp is named by the sum of pyproject.toml and of this folder's path: a changed dependency or a moved
# checkout installs again, an existing .venv is completed and never deleted.
KEY   := $(shell { cat pyproject.toml; echo '$(CURDIR)'; } | cksum | cut -d' ' -f1)
STAMP := .venv/.minigrad-$(KEY)

.PHONY: demo docs wheel notebooks test test-gpu test-libraries test-mpi test-torch test-browser test-jupyter lint
.DEFAULT_GOAL := demo

demo: $(STAMP)-run
	@$(PY) -m minigrad demo

# A few workers only: each of them compiles what the others have not compiled yet, and all share one kernel cache.
# Each begins with a run of neighbouring tests, which want the same kernels, and helps the others at the end.
# Each kind of kernel is compiled once, within a budget; `make test ARGS=--full` runs every op with every dtype and
# layout, which takes several times as long.
test: $(STAMP)-test
	@$(PY) -m pytest -n auto --maxprocesses 4 --dist worksteal $(ARGS)

# One process: kernels are compiled once, and the device is not shared.
test-gpu: $(STAMP)-test
	@if command -v uv >/dev/null 2>&1; then uv pip install --quiet --python $(PY) --editable '.[cuda]'; \
	 else $(PY) -m pip install --quiet --editable '.[cuda]'; fi
	@MINIGRAD_CUDA=real $(PY) -m pytest tests/cuda $(ARGS)

# The release whose lists of samples the test knows.
test-torch: $(STAMP)-torch
	@$(PY) -m pytest -m torch $(ARGS)

test-libraries: $(STAMP)-libraries
	@$(PY) -m pytest tests/test_libraries.py tests/test_array_api.py $(ARGS)

test-mpi: $(STAMP)-mpi
	@$(PY) -m pytest tests/dist -m mpi $(ARGS)

notebooks: $(STAMP)-notebooks
	@$(PY) -m minigrad tutorial

# Warnings are errors; notebooks run, several at a time, and are kept until they change.
docs: $(STAMP)-docs
	@$(PY) -m sphinx -W --keep-going -q -j auto -b html docs docs/_build/html
	@echo "minigrad: docs/_build/html/index.html"

# A level is that of the user's processor; others compile their kernels at the first use.
wheel: $(STAMP)-run
	@$(PY) -m minigrad pack --cpu x86-64-v3 x86-64-v4
	@$(PY) -m pip wheel --quiet --no-deps --wheel-dir dist .
	@echo "minigrad: $$(ls -t dist/*.whl | head -1)"

# Chromium itself comes from the system's packages.
test-browser: $(STAMP)-browser
	@$(PY) -m pytest tests/viz -m browser $(ARGS)

# With the reader's own kernel: what an IPython shell in one process does not show.
test-jupyter: $(STAMP)-jupyter
	@$(PY) -m pytest tests/notebooks -m jupyter $(ARGS)

lint: $(STAMP)-lint
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@$(PY) -m tests.prose
	@$(PY) -m tests.docstrings
	@$(PY) -m tests.house

# What the installer says goes to a log; a failure shows it with addresses left out, for they may hold credentials.
# `setup` takes the groups to install: the demo needs neither pytest nor mypy.  Bytecode is written here, since a
# process that may not write any (PYTHONDONTWRITEBYTECODE) would compile every module at every start.
define setup
	@echo "minigrad: setting up .venv$(if $(1), for $(1)) (the first time takes up to a minute)"
	@$(find_python)
	@{ if command -v uv >/dev/null 2>&1; then \
	       uv pip install --quiet --compile-bytecode --python $(PY) $(foreach group,$(1),--group $(group)) --editable .; \
	   else \
	       { $(PY) -m pip --version || $(PY) -m ensurepip; } && \
	       $(PY) -m pip install --quiet --upgrade 'pip>=25.1' && \
	       $(PY) -m pip install --quiet $(foreach group,$(1),--group $(group)) --editable .; \
	   fi; } >.venv/setup.log 2>&1 || { \
	       sed -E -e 's#[A-Za-z0-9+.-]+://[^[:space:]]+#(address)#g' -e "s#host='[^']*'#host=(address)#g" .venv/setup.log >&2; \
	       echo "minigrad: the installation failed; the lines above say why" >&2; exit 1; }
	@$(PY) -m compileall -q minigrad
	@touch $@ $(STAMP)-run
endef

# An interpreter that runs is kept, whoever made it.
define find_python
if $(PY) -c '' >/dev/null 2>&1; then :; \
elif command -v uv >/dev/null 2>&1; then uv venv --quiet --allow-existing --python '>=3.11' .venv; \
elif ! command -v $(PYTHON) >/dev/null 2>&1; then \
    echo "minigrad: $(PYTHON) was not found; install Python 3.11 or later (Debian, Ubuntu: apt-get install python3 python3-venv)" >&2; exit 1; \
elif ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
    echo "minigrad: $(PYTHON) is older than 3.11; name a later one: make PYTHON=python3.12" >&2; exit 1; \
elif ! $(PYTHON) -c 'import venv, ensurepip' >/dev/null 2>&1; then \
    echo "minigrad: $(PYTHON) has no venv module; install it (Debian, Ubuntu: apt-get install python3-venv)" >&2; exit 1; \
else $(PYTHON) -m venv .venv; \
fi
endef

$(STAMP)-run: ; $(call setup,)
$(STAMP)-test: ; $(call setup,test)
$(STAMP)-lint: ; $(call setup,lint)
$(STAMP)-docs: ; $(call setup,docs)
$(STAMP)-notebooks: ; $(call setup,notebooks)
$(STAMP)-browser: ; $(call setup,test browser)
$(STAMP)-torch: ; $(call setup,test torch)
$(STAMP)-libraries: ; $(call setup,test libraries)
$(STAMP)-mpi: ; $(call setup,test mpi)
$(STAMP)-jupyter: ; $(call setup,test notebooks)
