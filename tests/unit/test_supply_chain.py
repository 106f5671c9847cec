"""What comes from outside is pinned and watched, and a release is made from what is here."""

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tests.documentation import PICTURES, ROOT, TEMPLATE

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINS = sorted((ROOT / "requirements").glob("*.txt"))


# --- pins -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pins", PINS, ids=lambda path: path.name)
def test_every_pin_has_a_version_and_hashes_so_that_an_install_takes_nothing_else(pins):
    text = re.sub(r"\\\n\s*", "", re.sub(r"^\s*#.*\n", "", pins.read_text(), flags=re.M))
    lines = text.splitlines()
    assert lines
    assert [line for line in lines if not re.match(r"[\w.\[\],-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", line)] == []


@pytest.mark.parametrize("pins", PINS, ids=lambda path: path.name)
def test_every_package_is_pinned_once_for_all_versions_of_python(pins):
    pinned = Counter(re.findall(r"^([\w.-]+)==", pins.read_text(), flags=re.M))
    assert [name for name, times in pinned.items() if times > 1] == []


def test_the_file_at_the_top_installs_what_is_pinned_for_the_demo():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["-r requirements/demo.txt"]


def test_hooks_into_libraries_were_tried_on_the_versions_that_are_pinned():
    text = (ROOT / "docs" / "decisions" / "hooks-into-libraries.md").read_text()
    tried = dict(re.findall(r"^\| ([a-z-]+) \| ([\d.]+) \|", text, flags=re.M))
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements/dev.txt").read_text(), flags=re.M))
    assert set(tried) >= {"botocore", "pynamodb", "moto"}
    assert tried == {name: pinned[name] for name in tried}


@pytest.mark.parametrize("pins", PINS, ids=lambda path: path.name)
def test_renovate_can_run_the_command_that_made_the_pins(pins):
    command = pins.read_text().splitlines()[1].removeprefix("#    ").split()
    assert command[:3] == ["uv", "pip", "compile"]
    assert command[-2:] == [f"--output-file={pins.name}", f"{pins.stem}.in"]
    # It stops at options that it does not know, and at an argument without an equals sign.
    known = r"--(universal|generate-hashes|python-version=\S+|constraints=\S+|output-file=\S+)"
    assert [option for option in command[3:-1] if not re.fullmatch(known, option)] == []
    assert {"--universal", "--generate-hashes", "--python-version=3.11"} <= set(command)


def test_updates_come_weekly_in_groups_and_nothing_merges_itself():
    text = (ROOT / ".github" / "renovate.json").read_text()
    renovate = json.loads(text)
    assert renovate["schedule"] == renovate["lockFileMaintenance"]["schedule"] == ["before 6am on monday"]
    assert set(re.findall(r'"automerge": (\w+)', text)) == {"false"}
    [pattern] = renovate["pip-compile"]["managerFilePatterns"]
    found = {
        path
        for path in (*PINS, ROOT / "requirements.txt")
        if re.search(pattern.strip("/"), str(path.relative_to(ROOT)))
    }
    assert found == set(PINS)
    grouped = {manager for rule in renovate["packageRules"] for manager in rule["matchManagers"] if rule["groupName"]}
    assert grouped == set(renovate["enabledManagers"])


def test_what_programs_write_is_marked_as_generated_and_nothing_that_people_write():
    marked = re.findall(r"^/(\S+) linguist-generated$", (ROOT / ".gitattributes").read_text(), flags=re.M)
    found = {path for pattern in marked for path in ROOT.glob(pattern)}
    written = {*PINS, TEMPLATE, ROOT / ".ci" / "secrets.baseline"}
    assert found == written | {ROOT / "tests" / "browser" / "pictures" / f"{name}.png" for name in PICTURES}


# --- workflows --------------------------------------------------------------------------------------------------------


def steps(workflow: Path):
    for job in yaml.safe_load(workflow.read_text())["jobs"].values():
        yield from job["steps"]


def test_ci_and_releases_have_a_workflow():
    assert [workflow.name for workflow in WORKFLOWS] == ["ci.yml", "release.yml"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_read_only_unless_a_job_says_more_and_ends_in_time(workflow):
    read = yaml.safe_load(workflow.read_text())
    assert read["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 45 for job in read["jobs"].values())


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_to_a_commit_with_its_version_beside_it(workflow):
    used = re.findall(r"uses: (.*)", workflow.read_text())
    assert len(used) == sum("uses" in step for step in steps(workflow)) > 0
    assert [each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_no_checkout_leaves_its_credentials_for_later_steps(workflow):
    found = [step for step in steps(workflow) if "actions/checkout" in step.get("uses", "")]
    assert found
    assert [step.get("with", {}).get("persist-credentials") for step in found] == [False] * len(found)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_scripts_that_a_workflow_runs_are_there(workflow):
    scripts = [name for step in steps(workflow) for name in re.findall(r"\.ci/[\w-]+", step.get("run", ""))]
    assert scripts
    assert [name for name in scripts if not (ROOT / name).stat().st_mode & 0o100] == []


# --- vulnerabilities --------------------------------------------------------------------------------------------------

SAFE = {"name": "django", "version": "5.2.1", "vulns": []}
KNOWN = SAFE | {"vulns": [{"id": "PYSEC-2026-1", "fix_versions": ["5.2.2"], "aliases": [], "description": "…"}]}
NOT_FOUND = {"name": "boto3", "skip_reason": "Dependency not found on PyPI and could not be audited: boto3 (1.42.0)"}


def audited(tmp_path: Path, *, packages: list[dict] | None, status: int, error: str = ""):
    """What `.ci/audit` makes of a pip-audit that writes this report, if any, and ends so."""
    program = tmp_path / "pip-audit"
    report = "" if packages is None else json.dumps({"dependencies": packages, "fixes": []})
    program.write_text(
        "#!/usr/bin/env python3\nimport sys\nfrom pathlib import Path\n"
        f"report, error = {report!r}, {error!r}\n"
        "if report:\n    Path(sys.argv[sys.argv.index('--output') + 1]).write_text(report)\n"
        f"print(error, file=sys.stderr)\nsys.exit({status})\n"
    )
    program.chmod(0o755)
    copy = tmp_path / "project" / ".ci"
    copy.mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "audit", copy)
    return subprocess.run(
        [copy / "audit"],
        env={"PATH": "/usr/bin:/bin", "AUDIT_PROGRAMS": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_packages_without_findings_pass(tmp_path):
    ran = audited(tmp_path, packages=[SAFE], status=0)
    assert (ran.returncode, ran.stdout) == (0, "1 packages, none known to be vulnerable.\n")


def test_a_vulnerable_package_fails_with_what_mends_it(tmp_path):
    ran = audited(tmp_path, packages=[SAFE, KNOWN], status=1)
    assert (ran.returncode, ran.stderr) == (1, "django 5.2.1: PYSEC-2026-1, fixed in 5.2.2\n")


@pytest.mark.parametrize("error", ["requests.exceptions.ConnectionError: no route", "requests.exceptions.ReadTimeout"])
def test_a_service_that_cannot_be_reached_is_said_and_fails_nothing(tmp_path, error):
    ran = audited(tmp_path, packages=None, status=1, error=f"Traceback\n{error}")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == f"The vulnerability service could not be reached, skipped: {error}\n"


def test_a_service_that_knows_nothing_is_none(tmp_path):
    ran = audited(tmp_path, packages=[NOT_FOUND], status=0)
    assert ran.returncode == 0
    assert "could not be reached, skipped: it knows none of the packages" in ran.stdout


def test_a_package_that_could_not_be_audited_is_not_taken_for_a_safe_one(tmp_path):
    ran = audited(tmp_path, packages=[SAFE, NOT_FOUND], status=0)
    assert (ran.returncode, ran.stderr) == (1, "boto3: could not be audited\n")


def test_an_audit_that_breaks_fails(tmp_path):
    ran = audited(tmp_path, packages=None, status=2, error="pip-audit: error: unrecognised")
    assert (ran.returncode, ran.stderr) == (1, "pip-audit: error: unrecognised\n\n")


# --- secrets ----------------------------------------------------------------------------------------------------------

MADE_UP = {"type": "AWS Access Key", "hashed_secret": "0a", "line_number": 3}


def looked_for_secrets(tmp_path: Path, found: list[dict], *words: str):
    """What `.ci/secrets` makes of a detect-secrets that finds these in a file."""
    program = tmp_path / "detect-secrets"
    program.write_text(f"#!/bin/sh\ncat <<'JSON'\n{json.dumps({'results': {'a.py': found} if found else {}})}\nJSON\n")
    program.chmod(0o755)
    project = tmp_path / "project"
    if not project.exists():
        (project / ".ci").mkdir(parents=True)
        shutil.copy(ROOT / ".ci" / "secrets", project / ".ci")
        (project / ".ci/secrets.baseline").write_text('{"a.py": ["AWS Access Key 0a"]}')
        subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
    return subprocess.run(
        [project / ".ci" / "secrets", *words],
        env={"PATH": "/usr/bin:/bin", "AUDIT_PROGRAMS": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("line", [3, 30])
def test_a_made_up_secret_of_the_baseline_passes_wherever_it_moves(tmp_path, line):
    ran = looked_for_secrets(tmp_path, [MADE_UP | {"line_number": line}])
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("other", [{"hashed_secret": "0b"}, {"type": "GitHub Token"}])
def test_another_secret_fails_with_its_place_until_it_is_accepted(tmp_path, other):
    found = [MADE_UP, MADE_UP | other | {"line_number": 7}]
    ran = looked_for_secrets(tmp_path, found)
    assert ran.returncode == 1
    assert ran.stderr.startswith(f"a.py:7: {found[1]['type']}\nRemove it")
    assert looked_for_secrets(tmp_path, found, "--accept").returncode == 0
    assert looked_for_secrets(tmp_path, found).returncode == 0


def test_files_of_the_baseline_are_there_and_are_tests():
    files = list(json.loads((ROOT / ".ci/secrets.baseline").read_text()))
    assert files
    assert [each for each in files if not each.startswith("tests/") or not (ROOT / each).exists()] == []


def test_every_folder_has_an_owner():
    """In GitHub's file the last pattern that matches decides: what keeps people and secrets safe comes last."""
    lines = (ROOT / ".github" / "CODEOWNERS").read_text().splitlines()
    rules = [line.split() for line in lines if line and not line.startswith("#")]
    assert rules[0][0] == "*"
    assert all(len(rule) > 1 and all(re.fullmatch(r"@[\w-]+/[\w-]+", owner) for owner in rule[1:]) for rule in rules)
    assert [rule[0] for rule in rules[1:] if not (ROOT / rule[0].strip("/")).exists()] == []


def test_every_release_says_how_to_upgrade_then_what_it_added_changed_and_fixed():
    releases = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)[1:]
    assert releases[0].startswith("Unreleased\n")
    order = ["Upgrade", "Added", "Changed", "Fixed"]
    for release in releases:
        titles = re.findall(r"^### (.*)", release, flags=re.M)
        assert titles == [title for title in order if title in titles], release[:30]
        parts = re.split(r"^### .*", release, flags=re.M)[1:]
        assert all(re.search(r"^(- |1\. )", part, flags=re.M) for part in parts)


# --- releases ---------------------------------------------------------------------------------------------------------

CHANGES = "- **Answers.** People answer.\n- And more.\n\n### Upgrading\n\n# Read this first."


class Checkout:
    """A repository with a main, in which a release can be made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / ".ci").mkdir(parents=True)
        shutil.copy(ROOT / ".ci" / "release", path / ".ci")
        (path / ".ci" / "sbom").write_text("#!/bin/sh\ngrep '^version =' pyproject.toml > ../sbom\n")
        (path / ".ci" / "sbom").chmod(0o755)
        (path / "pyproject.toml").write_text('[project]\nname = "console"\nversion = "0.9.0"\nversion-file = ""\n')
        (path / "Dockerfile").write_text("FROM base\nARG VERSION=0.9.0\nARG REVISION=\n")
        (path / "CHANGELOG.md").write_text(
            f"# Changelog\n\n## Unreleased\n\n{CHANGES}\n\n## 0.9.0 (2026-01-31)\n\n- Old.\n"
        )
        self.git("init", "--quiet", "--initial-branch", "main")
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.com")
        self.commit()

    def git(self, *words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=self.path, check=True, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}
        ).stdout

    def commit(self) -> None:
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "Everything")

    def release(self, *words: str):
        return subprocess.run([self.path / ".ci" / "release", *words], capture_output=True, text=True, check=False)

    @property
    def state(self) -> tuple[str, str, str]:
        return self.git("rev-parse", "HEAD"), self.git("tag"), self.git("status", "--porcelain")


@pytest.fixture
def checkout(tmp_path) -> Checkout:
    return Checkout(tmp_path / "checkout")


def test_a_release_has_its_section_version_tag_and_sbom(checkout):
    ran = checkout.release("0.10.0")
    assert ran.returncode == 0, ran.stderr
    changelog = (checkout.path / "CHANGELOG.md").read_text()
    top = rf"# Changelog\n\n## Unreleased\n\n## 0\.10\.0 \(\d{{4}}-\d\d-\d\d\)\n\n{re.escape(CHANGES)}\n\n## 0\.9\.0 "
    assert re.match(top, changelog)
    assert 'version = "0.10.0"\nversion-file = ""' in (checkout.path / "pyproject.toml").read_text()
    assert (checkout.path / "Dockerfile").read_text() == "FROM base\nARG VERSION=0.10.0\nARG REVISION=\n"
    assert (checkout.path.parent / "sbom").read_text() == 'version = "0.10.0"\n'
    assert checkout.git("log", "-1", "--format=%s") == "Release 0.10.0\n"
    assert checkout.git("status", "--porcelain") == ""
    assert checkout.git("cat-file", "-t", "v0.10.0") == "tag\n"
    assert checkout.git("for-each-ref", "--format=%(contents)", "refs/tags").strip() == f"0.10.0\n\n{CHANGES}"


def test_a_dry_run_shows_the_section_and_changes_nothing(checkout):
    before = checkout.state
    ran = checkout.release("0.10.0", "--dry-run")
    assert (ran.returncode, checkout.state) == (0, before)
    assert CHANGES in ran.stdout


@pytest.mark.parametrize("version", ["0.9.0", "0.8.12", "1", "v1.0.0", "1.0.0rc1"])
def test_a_version_that_is_none_or_is_not_later_is_refused(checkout, version):
    before = checkout.state
    assert checkout.release(version).returncode == 1
    assert checkout.state == before


def test_another_branch_is_refused(checkout):
    checkout.git("switch", "--quiet", "--create", "feature")
    assert "from main, not from feature" in checkout.release("1.0.0").stderr


@pytest.mark.parametrize("name", ["pyproject.toml", "new.txt"])
def test_what_is_not_committed_is_refused_and_named(checkout, name):
    with (checkout.path / name).open("a") as file:
        file.write("# more\n")
    assert name in checkout.release("1.0.0").stderr


def test_a_tag_that_is_there_is_refused(checkout):
    checkout.git("tag", "v1.0.0")
    assert "v1.0.0 is there already" in checkout.release("1.0.0").stderr


@pytest.mark.parametrize("unreleased", ["", "## Unreleased\n\n"])
def test_a_changelog_without_news_is_refused(checkout, unreleased):
    (checkout.path / "CHANGELOG.md").write_text(f"# Changelog\n\n{unreleased}## 0.9.0\n\n- Old.\n")
    checkout.commit()
    assert "nothing under Unreleased" in checkout.release("1.0.0").stderr


def test_without_an_sbom_nothing_is_released(checkout):
    (checkout.path / ".ci" / "sbom").write_text("#!/bin/sh\nexit 1\n")
    checkout.commit()
    before = checkout.state
    assert "nothing is released" in checkout.release("1.0.0").stderr
    assert checkout.state == before
