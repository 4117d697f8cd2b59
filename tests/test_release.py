"""Protects a release: what is built installs and runs by itself, on each Python and with the oldest libraries allowed."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
import yaml
from checkout import ROOT, copy_checkout

import tflint_gpu
from tflint_gpu.doctor.compatibility import builds
from tflint_gpu.text.toml import loads

PROJECT = loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_version_and_the_changelog_agree() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] == tflint_gpu.__version__
    done = subprocess.run([sys.executable, "-m", "tflint_gpu", "--version"], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == f"tflint-gpu {tflint_gpu.__version__}\n"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has all that the tests need, except this package."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=600)
    [packages] = folder.glob("lib/python*/site-packages")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "tflint_gpu" not in path.name and not (packages / path.name).exists():
            (packages / path.name).symlink_to(path)
    return folder / "bin" / "python"


def run_bare(python: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a module, as a user does who has unpacked the sources and installed nothing of them."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    return subprocess.run(
        [str(python), "-m", *words], cwd=folder, capture_output=True, text=True, timeout=1800, env=clean
    )


@pytest.mark.slow
def test_a_checkout_runs_without_being_installed(bare: Path, tmp_path: Path) -> None:
    """Protects `python -m tflint_gpu` and `python -m pytest` there, where the rules lie next to the package."""
    place = copy_checkout(tmp_path / "checkout")
    assert run_bare(bare, tmp_path, "tflint_gpu").returncode == 1, "it is installed nowhere"
    done = run_bare(bare, place, "tflint_gpu", "check", "--isolated", "--no-cache", "fixtures/no_faster")
    assert (done.returncode, done.stderr) == (1, ""), done.stderr
    assert "TFG303" in done.stdout
    tests = ["tests/settings/test_selection.py", "tests/cli/test_rule.py", "tests/cli/test_start.py"]
    done = run_bare(bare, place, "pytest", *tests)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.slow
def test_the_release_workflow_is_one_and_keeps_no_secret() -> None:
    """By the published schema, which `check-jsonschema` carries."""
    path = ROOT / ".github" / "workflows" / "release.yml"
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(path)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    text = path.read_text()
    assert "id-token: write" in text and "attest-build-provenance" in text and "gh-action-pypi-publish" in text
    assert "secrets." not in text and "password" not in text
    assert "mkdocs build --strict" in text and "actions/deploy-pages" in text
    oldest, newest = pythons_allowed()[0], pythons_allowed()[-1]
    assert f'python: ["{oldest}", "{newest}"]' in text


@pytest.mark.parametrize("workflow", ["test.yml", "release.yml"])
def test_the_extension_is_packaged_by_what_its_test_runs(workflow: str) -> None:
    """tests/integrations/test_vscode.py runs the same two commands."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / workflow).read_text())["jobs"]
    commands = [step["run"] for step in jobs["extension"]["steps"] if "run" in step]
    assert commands == ["npm ci", "npm run package"]
    [kept] = [step["with"]["path"] for step in jobs["extension"]["steps"] if "upload-artifact" in step.get("uses", "")]
    package = json.loads((ROOT / "editors" / "vscode" / "package.json").read_text())
    assert Path(kept).name in package["scripts"]["package"]


@pytest.mark.slow
def test_three_systems_are_tested() -> None:
    """By the published schema; what this machine cannot run, the workflow does."""
    path = ROOT / ".github" / "workflows" / "test.yml"
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(path)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    text = path.read_text()
    readme = (ROOT / "README.md").read_text("utf-8")
    second = next(line for line in readme.splitlines() if ".venv/bin/pytest" in line)
    assert f"- run: {second}\n" in text, "what the README says is what is run"
    assert all(system in text for system in ("ubuntu-latest", "windows-latest", "macos-latest"))
    oldest, newest = pythons_allowed()[0], pythons_allowed()[-1]
    with_tensorflow = builds()[max(builds())].python[-1]
    assert f'python: ["{oldest}", "{newest}"]' in text and f'python: ["{oldest}", "{with_tensorflow}"]' in text
    for word in re.findall(r"tests/\S+", text):
        assert (ROOT / word).exists(), word


def imported_by_tests(files: list[Path]) -> set[str]:
    """The packages that test files import when they are collected, by way of the helpers beside them, too."""
    found: set[str] = set()
    seen: set[Path] = set()
    waiting = [*files]
    while waiting:
        path = waiting.pop()
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        for node in ast.parse(path.read_text("utf-8")).body:
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found |= {name.partition(".")[0] for name in names}
            waiting += [ROOT / "tests" / f"{name}.py" for name in names]
    helpers = {path.stem for path in seen}
    return found - helpers - {*sys.stdlib_module_names, "tflint_gpu", "conftest"}


def with_what_they_need(packages: list[str]) -> set[str]:
    """Installed packages and all that are installed with them."""
    found: set[str] = set()
    while packages:
        name = re.split(r"[^\w.-]", packages.pop())[0].lower().replace("_", "-")
        if name and name not in found:
            found.add(name)
            with contextlib.suppress(PackageNotFoundError):
                packages += [one for one in requires(name) or [] if "extra ==" not in one]
    return found


@pytest.mark.slow
def test_the_other_systems_install_what_their_tests_import() -> None:
    """Protects the workflow from tests that cannot even be collected there: it installs fewer packages than `dev`."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())["jobs"]
    install, test, *_ = [step["run"] for step in jobs["elsewhere"]["steps"] if "run" in step]
    [extra] = re.findall(r'-e "\.\[(\w+)\]"', install)
    listed = install.partition('"')[2].partition('"')[2].split()
    named = [ROOT / word for word in test.split() if word.startswith("tests/")]
    files = [path for name in named for path in ([name] if name.is_file() else name.glob("**/*.py"))]
    files += [folder / "conftest.py" for name in named for folder in (name, *name.parents) if ROOT in folder.parents]
    installed = with_what_they_need([*listed, *PROJECT["dependencies"], *PROJECT["optional-dependencies"][extra]])
    distributions = packages_distributions()
    missing = {
        name for name in imported_by_tests(files)
        if not {one.lower().replace("_", "-") for one in distributions.get(name, [])} & installed
    }  # fmt: skip
    assert len(files) > 30 and missing == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("citation-file-format", "CITATION.cff"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/[!c]*.yml"),
        ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
    ],
)
def test_what_github_reads_is_as_it_should_be(schema: str, files: str) -> None:
    there = sorted(map(str, ROOT.glob(files)))
    assert there
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    if schema == "citation-file-format":
        command += ["--default-filetype", "yaml"]
    done = subprocess.run([*command, *there], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout


def test_the_citation_and_the_package_say_the_same() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"version: {tflint_gpu.__version__}\n" in citation
    assert f"license: {PROJECT['license']}\n" in citation
    assert f"repository-code: {PROJECT['urls']['Source']}\n" in citation


@pytest.mark.slow
def test_what_an_index_shows_of_the_package(tmp_path: Path) -> None:
    """By the metadata that is built: links, words to search for, and the Pythons that are tested."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--no-deps", "--no-build-isolation",
         "--no-index", "--ignore-installed", "--report", "-", copy_checkout(tmp_path / "checkout")],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [shown] = [one["metadata"] for one in json.loads(done.stdout)["install"]]
    urls = {label.partition(", ")[0] for label in shown["project_url"]}
    assert urls == {"Documentation", "Source", "Issues", "Changelog"}
    assert {"tensorflow", "keras", "gpu", "linter", "flake8"} <= set(shown["keywords"])
    assert "Framework :: Flake8" in shown["classifier"] and "Typing :: Typed" in shown["classifier"]
    assert {re.split(r"[<>=]", name)[0] for name in shown["requires_dist"]} >= {"flake8", "nvidia-ml-py", "libcst"}
    newest = pythons_allowed()[-1]
    assert [name for name in shown["classifier"] if name.endswith(f":: {newest}")]
    for workflow in ("test.yml", "release.yml"):
        tested = re.findall(r"python: \[(.*)\]", (ROOT / ".github" / "workflows" / workflow).read_text())
        assert any(f'"{newest}"' in versions for versions in tested), "no Python is named that is not tested"


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "SECURITY.md"])
def test_what_github_shows_to_who_contributes_is_current(name: str) -> None:
    """Links and files that are named are there, and so are programs, options and the README's commands."""
    text = (ROOT / ".github" / name).read_text("utf-8")
    links = re.findall(r"\]\(([^)#:\s]+)\)", text)
    assert [link for link in links if not (ROOT / ".github" / link).exists()] == []
    named = re.findall(r"(?:(?:tests|docs|rules)/[\w/]+\.\w+)|\.ci/run", text)
    assert [file for file in named if not (ROOT / file).exists()] == []
    if name == "CONTRIBUTING.md":
        readme = (ROOT / "README.md").read_text("utf-8")
        [second] = [line for line in readme.splitlines() if ".venv/bin/pytest" in line]
        assert " && ".join(re.findall(r"^```\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)[0].split("\n")[:3]) == second
        assert "wrong finding" in text and "missed" in text
    else:
        assert "Report a vulnerability" in text and "`--sandbox none`" in text


@pytest.mark.slow
def test_the_image_has_all_that_a_check_needs(tmp_path: Path) -> None:
    """What the Dockerfile copies is built, and its command checks the folder that is mounted as its own."""
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    sent = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"}
    source = tmp_path / "source"
    source.mkdir()
    for line in lines:
        if line.startswith("COPY "):
            *names, target = line.split()[1:]
            assert set(names) <= sent and target.startswith("/source/")
            for name in names:
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / name, source)
    assert lines[-2:] == ['ENTRYPOINT ["tflint-gpu"]', 'CMD ["check"]'] and "WORKDIR /code" in lines
    [newest] = [line.removeprefix("FROM python:") for line in lines if line.startswith("FROM")]
    assert newest == f"{pythons_allowed()[-1]}-slim"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps"]
    subprocess.run([*install, "--target", tmp_path / "site", source], check=True, timeout=600)
    code = tmp_path / "code"
    code.mkdir()
    shutil.copy(ROOT / "examples" / "train.py", code)
    done = subprocess.run(
        [sys.executable, "-m", "tflint_gpu", "check"],
        cwd=code, capture_output=True, text=True, timeout=600, env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "") and "TFG403" in done.stdout and "TFG202" in done.stdout


@pytest.mark.campaign
def test_the_image_is_built_and_checks_a_mounted_folder(tmp_path: Path) -> None:
    """Where Docker has a daemon and its registry."""
    if shutil.which("docker") is None or subprocess.run(["docker", "info"], capture_output=True, timeout=60).returncode:
        pytest.skip("there is no Docker daemon")
    built = subprocess.run(["docker", "build", "-q", str(ROOT)], capture_output=True, text=True, timeout=1200)
    if "registry" in built.stderr or "pull" in built.stderr:
        pytest.skip(f"the base image cannot be had: {built.stderr.strip()[-200:]}")
    assert built.returncode == 0, built.stderr
    shutil.copy(ROOT / "examples" / "train.py", tmp_path)
    command = ["docker", "run", "--rm", "-v", f"{tmp_path}:/code:ro", built.stdout.strip()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (1, "") and "TFG403" in done.stdout


def pythons_allowed() -> list[str]:
    return [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)]


def interpreters() -> list[str]:
    """The oldest and the newest Python of those allowed that this machine has."""
    beside = Path(sys.base_prefix).parent  # where pyenv keeps its versions
    found = []
    for version in pythons_allowed():
        name = f"python{version}"
        there = [shutil.which(name), *map(str, sorted(beside.glob(f"{version}.*/bin/{name}")))]
        found += [path for path in there if path and _starts(path)][:1]
    return [found[0], found[-1]] if len(found) > 1 else found


def _starts(python: str) -> bool:
    """Whether it is an interpreter: pyenv leaves a name in the path also where it is switched off."""
    return subprocess.run([python, "--version"], capture_output=True, timeout=60).returncode == 0


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel and the sdist of this checkout."""
    place = copy_checkout(tmp_path_factory.mktemp("checkout"))
    pytest.importorskip("build")
    command = [sys.executable, "-m", "build", "--outdir", str(place / "dist"), str(place)]
    subprocess.run(command, check=True, capture_output=True, timeout=1200)
    return place / "dist"


@pytest.mark.campaign
@pytest.mark.parametrize("python", interpreters())
@pytest.mark.parametrize("libraries", ["lowest", "newest"])
def test_what_is_built_runs_in_a_clean_environment(built: Path, python: str, libraries: str, tmp_path: Path) -> None:
    subprocess.run([python, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=600)
    programs = tmp_path / "venv" / "bin"
    bounds = (dependency.partition(";")[0].partition(",")[0] for dependency in PROJECT["dependencies"])
    lowest = [f"{bound.replace('>=', '==').strip()}.*" for bound in bounds]
    (tmp_path / "constraints.txt").write_text("\n".join(lowest if libraries == "lowest" else []))
    [package] = built.glob("*.whl" if libraries == "lowest" else "*.tar.gz")
    command = [programs / "pip", "install", "--quiet", "-c", tmp_path / "constraints.txt", package]
    subprocess.run(command, check=True, timeout=1200)
    shutil.copytree(ROOT / "fixtures", tmp_path / "fixtures")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        command = [str(programs / arguments[0]), *arguments[1:]]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, env=clean)

    assert run("tflint-gpu", "--version").stdout == f"tflint-gpu {tflint_gpu.__version__}\n"
    done = run("tflint-gpu", "check", "--isolated", "--no-cache", "--output-format", "json", "fixtures")
    assert (done.returncode, done.stderr) == (1, "")
    here = [
        sys.executable,
        "-m",
        "tflint_gpu",
        "check",
        "--isolated",
        "--no-cache",
        "--output-format",
        "json",
        "fixtures",
    ]
    expected = subprocess.run(
        here, cwd=tmp_path, capture_output=True, text=True, timeout=600, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert json.loads(done.stdout) == json.loads(expected.stdout), "the same findings as here"
    assert run("tflint-gpu", "rule", "--all").returncode == 0
    assert "TFG101" in run("flake8", "--isolated", "--select=TFG", "fixtures/no_faster/sine_layer.py").stdout


@pytest.mark.campaign
def test_the_sdist_can_run_its_own_tests(built: Path, bare: Path, tmp_path: Path) -> None:
    [sdist], [wheel] = built.glob("*.tar.gz"), built.glob("*.whl")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    [folder] = tmp_path.iterdir()
    rooms = [
        "tests/text",
        "tests/reports",
        "tests/settings",
        "tests/checking",
        "tests/test_fixtures.py",
        "tests/test_release.py",
    ]
    done = run_bare(bare, folder, "tflint_gpu", "check", "--isolated", "examples/train.py")
    assert (done.returncode, done.stderr) == (1, ""), done.stderr
    done = run_bare(bare, folder, "pytest", "-x", *rooms)
    assert done.returncode == 0, done.stdout[-3000:]
    with zipfile.ZipFile(wheel) as archive:
        named = {name.partition("/")[0] for name in archive.namelist()}
    assert named == {"tflint_gpu", f"tflint_gpu-{tflint_gpu.__version__}.dist-info"}, "and the wheel has no tests"
