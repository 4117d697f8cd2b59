"""Protects the GitHub Action: its steps are run as GitHub's runner does, in real repositories.

The runner is played by `Runner`: it fills in the expressions of a step's `env`, runs the script with the command line
that `shell: bash` stands for, and reads the outputs from the file that GITHUB_OUTPUT names.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from checkout import ROOT, copy_checkout, git, needs_installation

pytestmark = pytest.mark.slow

ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"]}
TRAIN = """\
import tensorflow as tf

def train(model, xs):
    ds = tf.data.Dataset.from_tensor_slices(xs)
    ds = ds.prefetch(1).map(lambda x: tf.io.decode_png(x)).batch(32)
    model.fit(ds, epochs=2)
"""
CODE = "TFG302"
SETTINGS = f'[tool.tflint-gpu]\nselect = ["{CODE}"]\ntarget-tensorflow = "2.9"\n'  # from 2.11 on it is advice
ANNOTATION = re.compile(r"^::(error|warning|notice) (.*?)::(.*)$", re.MULTILINE)


@dataclass
class Runner:
    """What the steps of one job see."""

    workspace: Path
    temporary: Path
    event: dict[str, str] = field(default_factory=dict)
    source: Path = ROOT
    outputs: dict[str, str] = field(default_factory=dict)

    def step(self, name: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run one step with some inputs, named with `_`, and the others' defaults."""
        assert {key.replace("_", "-") for key in inputs} <= set(ACTION["inputs"])
        values = {
            f"inputs.{key}": inputs.get(key.replace("-", "_"), it["default"]) for key, it in ACTION["inputs"].items()
        }
        values |= {"github.action_path": str(self.source), **self.outputs}
        values |= {f"github.event.pull_request.{key}": value for key, value in self.event.items()}
        step = STEPS[name]
        assert step["shell"] == "bash"
        environment = {
            key: re.sub(r"\$\{\{ (.*?) \}\}", lambda match: values.get(match[1], ""), value)
            for key, value in step["env"].items()
        }
        self.temporary.mkdir(exist_ok=True)
        output = self.temporary / "output"
        output.write_text("")
        self.summary.unlink(missing_ok=True)  # of the job before
        script = self.temporary / "script.sh"
        script.write_text(step["run"])
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("GIT")}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL,
            env={
                **inherited, **environment, "RUNNER_TEMP": str(self.temporary),
                "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(self.summary),
            },
        )  # fmt: skip
        for line in output.read_text().splitlines():
            key, _, value = line.partition("=")
            self.outputs[f"steps.{name}.outputs.{key}"] = value
        return done

    @property
    def summary(self) -> Path:
        """What the job's page shows."""
        return self.temporary / "summary.md"

    def job(self, **inputs: str) -> subprocess.CompletedProcess[str]:
        """The steps after the installation."""
        done = self.step("revision", **inputs)
        return done if done.returncode else self.step("check", **inputs)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A job in an empty workspace, with the command that is installed here."""
    needs_installation()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    # An upper folder's settings or repository are none of this job's.
    (workspace / "pyproject.toml").write_text(SETTINGS)
    command = Path(sys.executable).with_name("tflint-gpu")
    return Runner(workspace, tmp_path / "runner", outputs={"steps.install.outputs.command": str(command)})


def annotations(done: subprocess.CompletedProcess[str]) -> list[tuple[str, str]]:
    """File and row of each annotation."""
    found = []
    for _, properties, _ in ANNOTATION.findall(done.stdout):
        named = dict(item.split("=", 1) for item in properties.split(","))
        if "file" in named:
            found.append((Path(named["file"]).name, named["line"]))
    return found


def test_github_would_accept_it() -> None:
    """By the published schema, which `check-jsonschema` carries."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions", "action.yml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout


def test_nothing_that_a_user_writes_becomes_part_of_a_script() -> None:
    """An expression in `run` would let the text of an input, or of a branch's name, run as a command."""
    assert [name for name, step in STEPS.items() if "${{" in step["run"]] == []
    assert all(step["shell"] == "bash" for step in STEPS.values())


def test_every_expression_is_known() -> None:
    """A misspelt expression is empty on GitHub, without a word."""
    written = {
        name
        for step in STEPS.values()
        for value in step["env"].values()
        for name in re.findall(r"\$\{\{ (.*?) \}\}", value)
    }
    assert written == {
        *(f"inputs.{name}" for name in ACTION["inputs"]),
        "github.action_path",
        "github.event.pull_request.base.sha",
        "github.event.pull_request.head.sha",
        "steps.install.outputs.command",
        "steps.revision.outputs.base",
    }
    for step, output in (("install", "command"), ("revision", "base")):
        assert f'echo "{output}=' in STEPS[step]["run"]


def test_it_installs_itself_and_checks(runner: Runner, tmp_path: Path) -> None:
    runner.source = copy_checkout(tmp_path / "action")
    runner.outputs.clear()
    installed = runner.step("install")
    assert installed.returncode == 0, installed.stderr
    command = runner.outputs["steps.install.outputs.command"]
    assert Path(command).is_relative_to(runner.temporary)
    (runner.workspace / "train.py").write_text(TRAIN)
    done = runner.job()
    assert (done.returncode, annotations(done)) == (1, [("train.py", "5")]), done.stderr
    assert sorted(path.name for path in runner.workspace.iterdir()) == ["pyproject.toml", "train.py"], "nothing else"


def test_clean_code_passes(runner: Runner) -> None:
    (runner.workspace / "train.py").write_text(TRAIN.replace(".prefetch(1)", ""))
    done = runner.job()
    assert (done.returncode, annotations(done), done.stderr) == (0, [], "")


def test_inputs_reach_the_command(runner: Runner) -> None:
    for name in ("a b.py", "sub/c.py", "other.py"):
        (runner.workspace / name).parent.mkdir(exist_ok=True)
        (runner.workspace / name).write_text(TRAIN)
    done = runner.job(paths="a b.py\nsub\n")
    assert annotations(done) == [("a b.py", "5"), ("c.py", "5")]
    done = runner.job(select="TFG2")
    assert (done.returncode, annotations(done)) == (0, [])
    done = runner.job(target_tensorflow="latest")
    assert (done.returncode, annotations(done)) == (2, [])
    assert "target-tensorflow" in done.stderr


def test_the_settings_and_an_input_say_what_fails_the_job(runner: Runner) -> None:
    """Protects pull requests from a red cross for advice, which is still shown beside its line."""
    (runner.workspace / "train.py").write_text(TRAIN)
    newest = {"target_tensorflow": "2.21"}
    done = runner.job(**newest)
    assert (done.returncode, annotations(done)) == (0, [("train.py", "5")]), done.stderr
    assert "::notice " in done.stdout
    assert runner.job(**newest, fail_on="advice").returncode == 1
    assert runner.job(fail_on="error").returncode == 0
    (runner.workspace / "pyproject.toml").write_text(SETTINGS + 'fail-on = "error"\n')
    assert runner.job().returncode == 0
    assert runner.job(fail_on="warning").returncode == 1, "the input wins"
    done = runner.job(fail_on="never")
    assert (done.returncode, annotations(done), "'advice'" in done.stderr) == (2, [], True)


def test_inputs_are_no_commands(runner: Runner) -> None:
    """A workflow may hand over what others wrote, such as the name of a file in a pull request."""
    lure = '$(touch lured); touch lured; "; touch lured; `touch lured` #'
    (runner.workspace / "train.py").write_text(TRAIN)
    for name in ACTION["inputs"]:
        done = runner.job(**{name.replace("-", "_"): lure})
        assert done.returncode in (1, 2), name
        assert not (runner.workspace / "lured").exists(), name
    done = runner.job(paths="--fix")
    assert (done.returncode, "--fix: no such file" in done.stderr) == (2, True)
    assert (runner.workspace / "train.py").read_text() == TRAIN


def test_the_jobs_page_shows_a_summary(runner: Runner) -> None:
    """Protects who opens the job and not the files: GitHub shows ten annotations of a step, the summary all."""
    (runner.workspace / "train.py").write_text(TRAIN)
    assert runner.job().returncode == 1
    row = next(line for line in runner.summary.read_text().splitlines() if "TFG302" in line)
    assert "train.py" in row and "5:13" in row
    (runner.workspace / "train.py").write_text("import tensorflow as tf\n")
    assert runner.job().returncode == 0
    assert "found no problems" in runner.summary.read_text()


def test_a_rule_that_fails_takes_nothing_of_the_others_away(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another package's rule cannot be used: the job fails, and the findings are on its page and beside their lines."""
    place = runner.workspace.parent / "site" / "acme-1.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1\n")
    (place / "entry_points.txt").write_text("[tflint_gpu.rules]\nnoop = a.b\n")
    monkeypatch.setenv("PYTHONPATH", str(place.parent))
    (runner.workspace / "train.py").write_text(TRAIN)
    done = runner.job(sarif="results.sarif")
    assert (done.returncode, annotations(done)) == (2, [("train.py", "5")]), done.stderr
    assert CODE in runner.summary.read_text() and CODE in (runner.workspace / "results.sarif").read_text()
    assert done.stderr.count("error: ") == 1, "told once, by the report that is shown"


def test_sarif_is_written_beside_the_annotations(runner: Runner) -> None:
    (runner.workspace / "train.py").write_text(TRAIN)
    done = runner.job(sarif="found results.sarif")
    assert (done.returncode, annotations(done)) == (1, [("train.py", "5")]), done.stderr
    [run] = json.loads((runner.workspace / "found results.sarif").read_text())["runs"]
    assert [result["ruleId"] for result in run["results"]] == [CODE]


def pull_request(runner: Runner, directory: Path, depth: int | None) -> dict[str, str]:
    """A pull request as GitHub checks it out: the base has moved on since it was opened, and touched the same file."""
    origin = directory / "origin"
    origin.mkdir()
    git(origin, "init", "--quiet", "--initial-branch=main")
    (origin / "train.py").write_text(TRAIN)
    commit(origin, "an old finding")
    opened = git(origin, "rev-parse", "HEAD").strip()
    git(origin, "switch", "--quiet", "--create", "topic")
    (origin / "ours.py").write_text(TRAIN)
    (origin / "train.py").write_text(TRAIN + TRAIN.replace("train", "again"))
    commit(origin, "two new findings")
    head = git(origin, "rev-parse", "HEAD").strip()
    git(origin, "switch", "--quiet", "main")
    (origin / "theirs.py").write_text(TRAIN)
    commit(origin, "another finding of somebody else")
    git(origin, "switch", "--quiet", "--detach")
    git(origin, "merge", "--quiet", "--no-ff", "--no-edit", "topic")
    git(origin, "update-ref", "refs/pull/1/merge", "HEAD")
    settings = (runner.workspace / "pyproject.toml").read_text()
    git(runner.workspace, "init", "--quiet", "--initial-branch=main")
    git(runner.workspace, "remote", "add", "origin", origin.as_uri())
    limit = [] if depth is None else [f"--depth={depth}"]
    git(
        runner.workspace,
        "fetch",
        "--quiet",
        "--no-tags",
        *limit,
        "origin",
        "+refs/pull/1/merge:refs/remotes/pull/1/merge",
    )
    git(runner.workspace, "checkout", "--quiet", "--detach", "refs/remotes/pull/1/merge")
    (runner.workspace / ".git" / "info" / "exclude").write_text("pyproject.toml\n")
    (runner.workspace / "pyproject.toml").write_text(settings)
    return {"base.sha": opened, "head.sha": head}


def commit(directory: Path, message: str) -> None:
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--message", message)


@pytest.mark.parametrize("depth", [1, 2, None])
def test_only_lines_that_the_pull_request_changes(depth: int | None, runner: Runner, tmp_path: Path) -> None:
    runner.event = pull_request(runner, tmp_path, depth)
    done = runner.job()
    assert annotations(done) == [("ours.py", "5"), ("theirs.py", "5"), ("train.py", "5"), ("train.py", "11")]
    done = runner.job(changed_lines_only="true")
    assert (done.returncode, annotations(done)) == (1, [("ours.py", "5"), ("train.py", "11")]), done.stderr


@pytest.mark.parametrize("depth", [1, None])
def test_the_head_of_a_pull_request_checked_out_by_itself(depth: int | None, runner: Runner, tmp_path: Path) -> None:
    runner.event = pull_request(runner, tmp_path, depth)
    limit = [] if depth is None else [f"--depth={depth}"]
    git(runner.workspace, "fetch", "--quiet", "--no-tags", *limit, "origin", runner.event["head.sha"])
    git(runner.workspace, "checkout", "--quiet", "--detach", runner.event["head.sha"])
    done = runner.job(changed_lines_only="true")
    assert (done.returncode, annotations(done)) == (1, [("ours.py", "5"), ("train.py", "11")]), done.stderr


def test_without_a_pull_request_all_lines_are_checked_and_it_is_said(runner: Runner) -> None:
    (runner.workspace / "train.py").write_text(TRAIN)
    said = runner.step("revision", changed_lines_only="true")
    assert (said.returncode, said.stdout.startswith("::notice::")) == (0, True)
    done = runner.step("check", changed_lines_only="true")
    assert (done.returncode, annotations(done)) == (1, [("train.py", "5")])


def test_what_is_neither_true_nor_false_is_refused(runner: Runner) -> None:
    done = runner.step("revision", changed_lines_only="yes")
    assert (done.returncode, done.stdout) == (2, "::error::changed-lines-only must be true or false, not yes\n")
