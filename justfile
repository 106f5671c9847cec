# The daily commands: `just` lists them. Every recipe runs in the project's own environment.

set positional-arguments

export PATH := justfile_directory() / ".venv/bin:" + env("PATH")

# List the recipes.
default:
    @just --list

# Make the environment with everything for development.
setup:
    python3 -m venv .venv
    pip install -q -r requirements/dev.txt

# Run the console with an embedded DynamoDB and data.
demo *args:
    python manage.py demo "$@"

# Run the daily suite, or the tests named.
test *args:
    pytest "$@"

# Run every test this machine can run.
test-all *args:
    pytest -m "" "$@"

# Run the tests that face the store on dynoxide, which cargo builds the first time.
test-store *args:
    python -m demo.dynoxide
    pytest -m "dynoxide_only or smoke or store and not browser and not crawl and not pages" --dynoxide "$@"

# Check style, types and security.
check:
    ruff check .
    ruff format --check .
    mypy console conversations tenants demo tests
    bandit -q -r console conversations tenants demo manage.py -c pyproject.toml

# Format the code.
format:
    ruff check --fix .
    ruff format .

# Write the parts of the documentation that are made from the code.
docs:
    python -m tests.documentation

# Run everything CI runs, on a bare Debian machine too.
ci:
    .ci/run
