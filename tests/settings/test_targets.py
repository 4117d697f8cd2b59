"""Protects the target version: a rule that speaks of the wrong TensorFlow says something false."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from checks import notebook

from tflint_gpu.checking.engine import Engine
from tflint_gpu.settings.config import Settings, SettingsResolver
from tflint_gpu.settings.files import FileToCheck
from tflint_gpu.settings.options import Options
from tflint_gpu.targets import NEWEST, Pins, memory_size, newest_allowed, target_of_notebook

Write = Callable[..., list[Path]]


@pytest.mark.parametrize(
    ("specifiers", "expected"),
    [
        ("==2.10.1", (2, 10)), ("==2.15.0.post1", (2, 15)), ("==2.15.*", (2, 15)), ("===2.9", (2, 9)),
        ("~=2.10.0", (2, 10)), ("~=2.10", NEWEST), (">=2.4,<2.11", (2, 10)), ("<=2.10", (2, 10)),
        ("<2", (1, 15)), ("==1.14", (1, 15)), ("<3", NEWEST), ("==2.99", NEWEST), ("<2.5,!=2.4.*", (2, 3)),
        (">=2.4", None), ("", None), ("!=2.3", None), ("nonsense", None), ("==2", (2, 0)),
    ],
)  # fmt: skip
def test_newest_allowed(specifiers: str, expected: tuple[int, int] | None) -> None:
    assert newest_allowed(specifiers) == expected


FILES = {
    "requirements.txt": "numpy\ntensorflow[and-cuda]==2.12.0 ; python_version < '3.12'  # why\n",
    "requirements-gpu.txt": "tensorflow-gpu>=2.4,<2.13\n",
    "pyproject.toml": '[project]\ndependencies = ["tensorflow-cpu (==2.12.1)"]\n',
    "setup.cfg": "[options]\ninstall_requires =\n  numpy\n  tensorflow ~= 2.12.0\n",
    "setup.py": "from setuptools import setup\n\nsetup(extras_require={'gpu': ['tensorflow-gpu==2.12.0']})\n",
    "uv.lock": '[[package]]\nname = "tensorflow"\nversion = "2.12.1"\n',
    "poetry.lock": '[[package]]\nname = "tensorflow"\nversion = "2.12.0"\n',
    "Pipfile.lock": '{"default": {"tensorflow": {"version": "==2.12.0"}}}',
    "environment.yml": "name: gpu\ndependencies:\n  - python=3.10\n  - conda-forge::tensorflow-gpu=2.12.0=py310  # why\n",
    "environment-dev.yaml": "dependencies:\n- pip:\n  - 'tensorflow~=2.12.0'\n",
}


@pytest.mark.parametrize("name", FILES)
def test_pins_of_a_project(name: str, tmp_path: Path, write_files: Write) -> None:
    write_files({name: FILES[name], "src/deep/x.py": ""})
    target = Pins().target(None, tmp_path / "src" / "deep")
    assert (target.tensorflow, target.keras, target.source, target.pinned) == ((2, 12), 2, name, True)
    row = next(row for row, line in enumerate(FILES[name].splitlines(), 1) if "tensorflow" in line)
    assert Pins().reason(target, tmp_path / "src" / "deep") == f"{tmp_path / name}, line {row}"


@pytest.mark.parametrize(
    ("name", "text", "row"),
    [
        ("setup.py", "# tensorflow==1.15\nsetup(name='tensorflow',\n keywords=['tensorflow'],\n description='For TensorFlow.',\n"
         " install_requires=[\n  'tensorflow-hub<0.8', 'tensorflow_gpu>=1.12, <2'])\n", 6),
        ("setup.py", "setup(extras_require={\n 'a': ['tensorflow==2.3'],\n 'b': ['tensorflow==2.4']})\n", 3),
        ("requirements.txt", "mytensorflow==1.15\ntensorflow-text==1.15\nTensorFlow[and-cuda] == 1.14 # why\n", 3),
        ("poetry.lock", '[[package]]\nname = "a"\n[package.dependencies]\ntensorflow = ">=1"\n\n'
         '[[package]]\nname = "tensorflow"\nversion = "1.15.5"\n', 7),
        ("uv.lock", '[[package]]\nname = "a"\ndependencies = [\n    { name = "tensorflow" },\n]\n\n'
         '[[package]]\nname = "tensorflow"\nversion = "1.15.5"\n', 8),
        ("Pipfile.lock", '{\n  "default": {\n    "a": {"version": "==1"},\n    "tensorflow": {\n'
         '      "version": "==1.15.5"\n}}}', 4),
        ("pyproject.toml", '[tool.poetry]\ndescription = "Models for TensorFlow"\n[tool.poetry.dependencies]\n'
         'tensorflow = "^1.15"\n', 4),
        ("environment.yml", "name: tensorflow\ndependencies:\n  - numpy\n  - tensorflow=1.15\n", 4),
    ],
)  # fmt: skip
def test_the_line_that_pins(name: str, text: str, row: int, tmp_path: Path, write_files: Write) -> None:
    """Protects the answer to "why TensorFlow 1?": sentences, names and other packages' wishes are no pins."""
    write_files({name: text, ".git/HEAD": ""})
    assert Pins().reason(Pins().target(None, tmp_path), tmp_path) == f"{tmp_path / name}, line {row}"


@pytest.mark.parametrize(
    "text",
    [
        '[project]\noptional-dependencies = {gpu = ["tensorflow<2.13"]}\n',
        '[dependency-groups]\ndev = ["tensorflow<2.13", {include-group = "x"}]\n',
        '[tool.poetry.dependencies]\ntensorflow = "~2.12"\n',
        '[tool.poetry.group.gpu.dependencies]\ntensorflow = {version = "2.12.0", optional = true}\n',
    ],
)
def test_shapes_of_pyproject(text: str, tmp_path: Path, write_files: Write) -> None:
    write_files({"pyproject.toml": text})
    assert Pins().target(None, tmp_path).tensorflow == (2, 12)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "tensorflow>=2.4\ntf-nightly==2.5\ntensorflow-datasets==2.1\ntensorflow_hub<0.9\n"),
        ("requirements.txt", "# tensorflow==2.4\n"),
        ("pyproject.toml", "[project\ntensorflow==2.4"),
        ("pyproject.toml", '[project]\ndependencies = "tensorflow==2.4"\n'),
        ("Pipfile.lock", '["tensorflow"]'),
        ("uv.lock", '[[package]]\nname = "tensorflow"\n'),
        ("setup.cfg", "tensorflow==2.4"),
        ("setup.py", "# 'tensorflow==2.4'\nsetup(description='TensorFlow < 2 layers', install_requires=['keras<3'])\n"),
        ("setup.py", "print 'tensorflow==2.4'\n"),
    ],
)
def test_what_is_no_pin_means_the_newest(name: str, text: str, tmp_path: Path, write_files: Write) -> None:
    write_files({name: text, ".git/HEAD": ""})
    target = Pins().target(None, tmp_path)
    assert (target.tensorflow, target.keras, target.source, target.pinned) == (NEWEST, 3, "newest", False)


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("tensorflow==2.16.1\nkeras==3.3.3\n", (3, 3)),
        ("keras>=3,<3.4\n", (3, 3)),
        ("keras\nkeras-tuner==1.4\ntf-keras==2.16\n", None),
        ("tensorflow==2.12.0\nkeras==2.12.0\n", None),
        ("keras>=3.2\n", None),
    ],
)
def test_a_release_of_keras_3(text: str, release: tuple[int, int] | None, tmp_path: Path, write_files: Write) -> None:
    write_files({"requirements.txt": text, "setup.py": ""})
    assert Pins().target(None, tmp_path).keras_release == release


def test_the_nearest_pin_holds_and_none_above_the_repository(tmp_path: Path, write_files: Write) -> None:
    """Protects what has its own `setup.py` or no `.git`: the pin may be above all the same."""
    write_files(
        {
            "requirements.txt": "tensorflow==2.4\n",
            "p/setup.py": "",
            "p/requirements.txt": "tensorflow==2.5\n",
            "p/a/requirements.txt": "tensorflow==2.6\n",
            "q/setup.py": "",
            "q/lib/pyproject.toml": "",
            "r/.git/HEAD": "",
        }
    )
    names = ("p", "p/a", "p/b", "q", "q/lib/deep", "r", "r/src")
    targets = {name: Pins().target(None, tmp_path / name).tensorflow for name in names}
    expected = {"p": (2, 5), "p/a": (2, 6), "p/b": (2, 5), "q": (2, 4), "q/lib/deep": (2, 4)}
    assert targets == expected | {"r": NEWEST, "r/src": NEWEST}


EXTRAS = (
    "from setuptools import setup\n\nsetup(extras_require={{'old': ['tensorflow{old}'], 'new': ['tensorflow{new}']}})\n"
)


@pytest.mark.parametrize(
    ("files", "release"),
    [
        ({"setup.py": EXTRAS.format(old="<2", new=">=2.4")}, NEWEST),
        ({"setup.py": EXTRAS.format(old="==1.15", new="")}, NEWEST),
        ({"setup.py": EXTRAS.format(old="<2", new=">=2.4,<2.9")}, (2, 8)),
        ({"setup.py": EXTRAS.format(old="<2", new="==1.14")}, (1, 15)),
        ({"requirements-tf1.txt": "tensorflow<2\n", "requirements.txt": "tensorflow>=2.4\n"}, NEWEST),
        ({"requirements-tf1.txt": "tensorflow<2\n", "requirements.txt": "tensorflow\n"}, NEWEST),
        ({"requirements_1.txt": "tensorflow<2\n", "requirements_2.txt": "tensorflow==2.6\n"}, (2, 6)),
        ({"requirements-tf1.txt": "tensorflow<2\n", "setup.py": "setup(install_requires=['tensorflow>=2.1'])\n"}, NEWEST),
        ({"requirements.txt": "tensorflow==1.15.2\n", "setup.py": "setup(install_requires=['tensorflow'])\n"}, (1, 15)),
        ({"requirements.txt": "tensorflow==1.15.2\n"}, (1, 15)),
        ({"requirements-tf1.txt": "tensorflow<2\n"}, (1, 15)),
        ({"uv.lock": '[[package]]\nname = "tensorflow"\nversion = "1.15.5"\n', "requirements.txt": "tensorflow>=2\n"}, (1, 15)),
    ],
)  # fmt: skip
def test_tensorflow_1_for_some_installations_is_not_the_project(
    files: dict[str, str], release: tuple[int, int], tmp_path: Path, write_files: Write
) -> None:
    write_files({**files, ".git/HEAD": ""})
    assert Pins().target(None, tmp_path).tensorflow == release


@pytest.mark.parametrize(
    ("cell", "release"),
    [
        ("!pip install tensorflow==2.0.0", (2, 0)),
        ("%pip install -q tensorflow-gpu==2.0.0-beta1", (2, 0)),
        ("import os\n!pip3 install -q 'tensorflow<2.4' numpy\n", (2, 3)),
        ("!python -m pip install tensorflow==1.15", (1, 15)),
        ("pip install tensorflow==2.2.0rc1", (2, 2)),
        ("!pip install tf-nightly-gpu-2.0-preview", (2, 0)),
        ("# !pip install tensorflow==2.1", None),
        ("!pip install -U tensorflow tensorflow-datasets==2.0", None),
        ("print('pip install tensorflow==2.0')", None),
    ],
)
def test_what_a_notebook_installs(cell: str, release: tuple[int, int] | None) -> None:
    target = target_of_notebook(notebook("x = 1", cell).encode(), "a.ipynb")
    assert (target and target.tensorflow) == release


def test_a_notebook_is_checked_for_what_it_installs(tmp_path: Path, write_files: Write) -> None:
    """Its own install beats what files pin around it, and a setting beats both; other files are as before."""
    write_files(
        {"a.ipynb": notebook("!pip install tensorflow==2.0.0"), "b.py": "", "requirements.txt": "tensorflow==2.8\n"}
    )

    def targets(settings: Settings) -> list[tuple[tuple[int, int], str]]:
        engine = Engine(SettingsResolver(Options()), tmp_path)
        files = [FileToCheck(tmp_path / name, name, settings, tmp_path) for name in ("a.ipynb", "b.py")]
        return [(target.tensorflow, target.source) for target in map(engine.target_for, files)]

    assert targets(Settings(None, tmp_path)) == [((2, 0), "a.ipynb"), ((2, 8), "requirements.txt")]
    assert targets(Settings(None, tmp_path, target_tensorflow="2.5")) == [((2, 5), "settings")] * 2


def test_the_setting_wins(tmp_path: Path, write_files: Write) -> None:
    write_files({"requirements.txt": "tensorflow==2.4\n", "setup.py": ""})
    target = Pins().target("2.16.1", tmp_path)
    assert (target.tensorflow, target.keras, target.source) == ((2, 16), 3, "settings")
    assert Pins().target("1.14", tmp_path).tensorflow == (1, 15)


def test_sizes_of_memory() -> None:
    """Protects the difference between GB, as shops say, and GiB, as drivers do."""
    sizes = {
        text: memory_size(text) for text in ("8GB", "24GiB", "7.5 GiB", "24576MiB", "1TB", "8G", "8 gb", "-1GB", "")
    }
    assert sizes == {
        "8GB": 8 * 10**9, "24GiB": 24 << 30, "7.5 GiB": 15 << 29, "24576MiB": 24 << 30, "1TB": 10**12,
        "8G": None, "8 gb": None, "-1GB": None, "": None,
    }  # fmt: skip


def test_a_package_of_a_monorepo_has_its_own_pin(tmp_path: Path, write_files: Write) -> None:
    """Protects packages from the target of the root's settings, which they extend; the command line beats both."""
    root = '[tool.tflint-gpu]\ntarget-tensorflow = "2.10"\n'
    write_files(
        {
            "pyproject.toml": root,
            "requirements.txt": "tensorflow==2.4\n",
            "plain/model.py": "",
            "pinned/requirements.txt": "tensorflow==2.16\n",
            "extending/pyproject.toml": '[project]\ndependencies = ["tensorflow==2.17"]\n'
            '[tool.tflint-gpu]\nextend = "../shared/base.toml"\n',
            "saying/requirements.txt": "tensorflow==2.18\n",
            "saying/tflint-gpu.toml": 'extend = "../pyproject.toml"\ntarget-tensorflow = "2.12"\n',
            "shared/base.toml": 'extend = "../pyproject.toml"\ntarget-tensorflow = "2.11"\n',
        }
    )

    def targets(resolver: SettingsResolver) -> dict[str, tuple[int, int]]:
        releases = {}
        for name in ("plain", "pinned", "extending", "saying"):
            settings = resolver.for_directory(tmp_path / name)
            target = Pins().target(settings.target_tensorflow, tmp_path / name, settings.target_folder)
            releases[name] = target.tensorflow
        return releases

    assert targets(SettingsResolver(working_directory=tmp_path)) == {
        "plain": (2, 10), "pinned": (2, 16), "extending": (2, 17), "saying": (2, 12)
    }  # fmt: skip
    said = Options(target_tensorflow="2.9")
    assert set(targets(SettingsResolver(said, working_directory=tmp_path)).values()) == {(2, 9)}
    given = SettingsResolver(config=tmp_path / "pyproject.toml", working_directory=tmp_path)
    assert set(targets(given).values()) == {(2, 10)}
