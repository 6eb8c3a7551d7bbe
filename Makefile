PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# The program that builds the image.
ENGINE ?= $(if $(shell command -v docker),docker,podman)
# Locked versions are kept; `make lock UPGRADE=--upgrade` takes the newest version of each package.
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --strip-extras --no-annotate \
	--custom-compile-command 'make lock' $(UPGRADE)
.DEFAULT_GOAL := help

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# An error of make itself, so that nothing is printed after the message.
NEEDED = $(if $(filter True,$(shell $(or $(wildcard $(BIN)/python),$(PYTHON)) -c 'import sys; print(sys.version_info >= (3, 11))')),,$(error \
	edge-exporter needs Python 3.11 or newer, and $(or $(wildcard $(BIN)/python),$(PYTHON)) is another: make PYTHON=python3.13))

$(BIN)/edge-exporter: pyproject.toml
	$(NEEDED)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.test: pyproject.toml $(BIN)/edge-exporter
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,check]'
	@touch $@

.PHONY: demo
demo: $(BIN)/edge-exporter ## the exporter on a local platform, nothing to configure
	$(BIN)/edge-exporter demo

# Bytecode is written even if the environment forbids it, because the tests start the exporter hundreds of times. The first
# pytest only collects the tests, so that it writes the bytecode once for all workers; the run itself reports its errors.
.PHONY: test
test: $(VENV)/.test ## the tests
	@-PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --collect-only -qq >/dev/null
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder --max-worker-restart 2

.PHONY: check
check: $(VENV)/.test ## lint, types, and whether generated files are up to date
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m dashboards.generator --check
	$(BIN)/python deploy/kubernetes/generate_rules.py --check
	$(BIN)/python -m docs.generate --check

.PHONY: lowest
lowest: ## the tests that need no other programs, with the lowest versions of the dependencies
	PYTHON=$(PYTHON) .ci/lowest

.PHONY: pythons
pythons: ## the tests that need no other programs, on every other installed Python from 3.11 on
	PYTHON=$(PYTHON) .ci/pythons

.PHONY: coverage
coverage: $(VENV)/.test ## the tests, with branch coverage
	$(BIN)/python -m pytest --cov --cov-report=term

.PHONY: generate
generate: $(VENV)/.test ## write the generated files: dashboards, PrometheusRule objects, references
	$(BIN)/python -m dashboards.generator
	$(BIN)/python deploy/kubernetes/generate_rules.py
	$(BIN)/python -m docs.generate

$(VENV)/.docs: pyproject.toml $(BIN)/edge-exporter
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

# No --quiet: with it, a broken link would not fail the build.
.PHONY: site
site: $(VENV)/.docs ## build the documentation as a site in site/, and check its links
	$(BIN)/python -m properdocs build --strict

$(VENV)/.release: pyproject.toml $(BIN)/edge-exporter
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	@touch $@

.PHONY: lock
lock: $(VENV)/.release ## write the image's lock file: versions and hashes, for every Python and platform
	$(LOCK) --extra postgres --output-file requirements/image.txt pyproject.toml
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
		| $(LOCK) --output-file requirements/build.txt -

.PHONY: package
package: $(VENV)/.release ## build and try the sdist, the wheel and the chart
	.ci/package
	.ci/chart

# A checkout without a tag has the development version in the Dockerfile. podman's own image format has no health check,
# so the image is built in docker's.
TAGGED = $(patsubst v%,%,$(shell git describe --tags --exact-match --match 'v*' 2>/dev/null))
REVISION = $(shell git describe --always --abbrev=40 --dirty --exclude '*' 2>/dev/null)
.PHONY: image
image: ## build localhost/edge-exporter, tagged with the chart's version, with docker or ENGINE=podman
	$(ENGINE) build $(if $(findstring podman,$(ENGINE)),--format docker) \
		$(addprefix --build-arg VERSION=,$(TAGGED)) $(addprefix --build-arg REVISION=,$(REVISION)) \
		--tag localhost/edge-exporter:$$(sed -n 's/^version: //p' deploy/helm/edge-exporter/Chart.yaml) .

.PHONY: audit
audit: $(VENV)/.release ## known vulnerabilities, licences and the list of the image's Python packages
	.ci/audit

.PHONY: bench
bench: $(VENV)/.test ## speed and memory, compared with the installed peers
	$(BIN)/python -m tests.bench

.PHONY: pictures
pictures: $(VENV)/.test ## draw the dashboards, with the results of their queries on a real Prometheus
	$(BIN)/python -m tests.pictures pictures

.PHONY: simulate
simulate: $(VENV)/.test ## the whole daemon on virtual time (EXAMPLES=100, SEED=1); PLANTED=all checks that it finds bugs put in on purpose
	SEED=$(or $(SEED),1) EXAMPLES=$(or $(EXAMPLES),100) $(if $(PLANTED),PLANTED="$(PLANTED)") $(BIN)/python -m pytest \
		--timeout=0 --durations=0 --hypothesis-seed=$(or $(SEED),1) tests/simulation

.PHONY: fuzz
fuzz: $(VENV)/.test ## ten minutes of the property tests with new examples (MINUTES=0: until you stop it); .fuzz keeps failing examples
	timeout $(or $(MINUTES),10)m sh -c 'while :; do for file in $$(grep -rl --include="test_*.py" "@given" tests | sort -R); do \
		$(BIN)/python -m pytest -m hypothesis --hypothesis-profile=fuzz --timeout=0 -o faulthandler_timeout=0 -q --no-header $$file \
		|| exit 1; done; done' || test $$? = 124

.PHONY: scale
scale: $(VENV)/.test ## 100,000 zones on one, two, four and eight processes, with the counters in files and in PostgreSQL
	$(BIN)/python -m tests.scale.run --postgres

.PHONY: chaos
chaos: $(VENV)/.test ## three exporters with two shards on one PostgreSQL, under ten minutes of faults
	$(BIN)/python -m tests.counters.chaos

.PHONY: newer-parts
newer-parts: ## unpack newer releases of Prometheus, and VictoriaMetrics, below ~/.cache, for the tests
	tests/newer_parts.sh

.PHONY: real-parts
real-parts: ## install all programs that tests use, on Debian: packages, helm, newer-parts, the image's base
	tests/real_parts.sh

.PHONY: fresh
fresh: ## make demo and make test in a new Debian chroot (as root; SUITE=bookworm for Debian 12)
	.ci/fresh

.PHONY: fresh-ci
fresh-ci: ## CI's run, with all programs that tests use, in a new Debian chroot
	.ci/fresh ci

.PHONY: clean
clean: ## remove .venv, builds and caches
	rm -rf $(VENV) dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
