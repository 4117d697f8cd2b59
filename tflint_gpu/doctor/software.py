"""What is wrong with the installation: the TensorFlow, its libraries, what hides the cards from it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from tflint_gpu.doctor.compatibility import Build, builds, last_for_windows, newest_for, release
from tflint_gpu.doctor.diagnosis import Diagnosis
from tflint_gpu.doctor.facts import Environment, Facts, Library, Setting, TensorFlow
from tflint_gpu.doctor.machine import has_card

_SAME_MODULE = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tf-nightly", "tf-nightly-cpu", "tensorflow-rocm")
_CUDA_DIRECTORY = re.compile(r"--xla_gpu_cuda_data_dir=(\S+)")
_NO_AVX = "TensorFlow's packages need a processor with AVX: use another machine, or build TensorFlow for this one."
_NO_MODULE = "No module named 'tensorflow'"
_LOOK = '`{} -c "import tensorflow"` shows the whole message: reinstall the package that it names, or else TensorFlow.'
_ROSETTA = "On a Mac with Apple silicon, use an arm64 Python: an Intel Python runs under Rosetta, which has no AVX."
_BRING_IT = (
    *_SAME_MODULE,
    "tensorflow-macos",
    "tensorflow-intel",
    "tensorflow-cpu-aws",
)  # what it depends on somewhere
_METAL, _ITS_PLUGIN = "tensorflow-metal", "libmetal_plugin"
_UNLOADED = re.compile(r"Could not load dynamic library '([^']+)'")
_ENDED = "was aborted by TensorFlow: "
_DRIVERS_OWN = "libcuda.so.1"
_LEGACY_SINCE = (2, 16)  # from then on tf.keras is Keras 3, and TF_USE_LEGACY_KERAS asks for the package tf-keras
_WHEELS = re.compile(r"/site-packages/nvidia/")


def of_shadows(facts: Facts) -> Iterator[Diagnosis]:
    """Files that are imported for TensorFlow, or for a module of Python's library that it needs."""
    for shadow in facts.shadows:
        by = "by the programs in its folder" if shadow.is_beside else "because its folder is on PYTHONPATH"
        seen = f"{shadow.path} is imported in place of `{shadow.name}` {by}"
        yield Diagnosis("TFG936", seen, todo=f"Give {shadow.path} another name.")


def of_tensorflow(facts: Facts) -> Iterator[Diagnosis]:
    """Not installed, not for this Python, without CUDA, or twice."""
    packages, tensorflow, python = facts.installation.packages, facts.tensorflow, facts.installation.python
    installed = [name for name in _SAME_MODULE if name in packages]
    if tensorflow is not None and tensorflow.error and not tensorflow.version:
        if not python:
            return  # this Python answered nothing
        if any(_refused(facts)):
            pass  # that is why
        elif not any(name in packages for name in _BRING_IT):
            yield _of_none(facts, newest_for(python))
        elif _METAL in packages and _ITS_PLUGIN in tensorflow.error:
            seen = f"{_METAL} {packages[_METAL]} is for another TensorFlow version: {tensorflow.error}"
            yield Diagnosis("TFG909", seen, f"{_pip(facts)} uninstall -y {_METAL}")
        else:
            seen = f"importing TensorFlow fails: {tensorflow.error}"
            is_mac = facts.environment.system == "Darwin"
            no_avx = _ROSETTA if is_mac else _NO_AVX
            look = "" if _NO_MODULE in tensorflow.error else _LOOK.format(_python(facts))
            todo = no_avx if tensorflow.error.endswith("SIGILL") else look
            yield Diagnosis("TFG909", seen, todo=todo)
    if len(installed) > 1:
        names = " and ".join(f"{name} {packages[name]}" for name in installed)
        command = f"{_pip(facts)} uninstall -y {' '.join(installed)}"
        yield Diagnosis("TFG910", f"{names} are installed", command)
    elif installed == ["tensorflow-gpu"] and release(packages["tensorflow-gpu"]) >= (2, 12):
        yield Diagnosis("TFG928", f"tensorflow-gpu {packages['tensorflow-gpu']} is installed", _install(facts, ""))


def _of_none(facts: Facts, newest: str) -> Diagnosis:
    around = facts.environment
    if not newest:
        oldest, last = (".".join(map(str, number)) for number in (min(builds()), max(builds())))
        pythons = builds()[max(builds())].python
        seen = f"no TensorFlow from {oldest} on has a package for Python {facts.installation.python} ({_python(facts)})"
        todo = f"Use Python {pythons[0]} to {pythons[-1]}, for which TensorFlow {last} has packages."
        return Diagnosis("TFG921", seen, todo=todo)
    if has_card(facts) and not _has_builds_with_cuda(around):
        seen = f"{_python(facts)} has no TensorFlow, and no package for {around.system} on {around.machine} has CUDA"
        return Diagnosis("TFG908", seen)
    return Diagnosis("TFG909", f"{_python(facts)} has no TensorFlow", _install(facts, newest))


def _has_builds_with_cuda(around: Environment) -> bool:
    return around.system == "Linux" and around.machine not in ("aarch64", "arm64")


def of_the_build(facts: Facts) -> Iterator[Diagnosis]:
    """A TensorFlow that has no CUDA."""
    tensorflow, around = facts.tensorflow, facts.environment
    if tensorflow is None or not tensorflow.version or tensorflow.cuda or not has_card(facts):
        return
    version = release(tensorflow.version)
    if around.system == "Darwin" or (around.system == "Windows" and version > last_for_windows()):
        yield Diagnosis("TFG908", f"TensorFlow {tensorflow.version} on {around.system}")
    elif around.machine in ("aarch64", "arm64"):
        yield Diagnosis("TFG908", f"TensorFlow {tensorflow.version} on {around.machine}")
    else:
        wrong = [name for name in _SAME_MODULE if name in facts.installation.packages]
        remove = f"{_pip(facts)} uninstall -y {' '.join(wrong)} && " if wrong else ""
        minor = ".".join(map(str, version))
        seen = f"TensorFlow {tensorflow.version} was built without CUDA{f' (package {wrong[0]})' if wrong else ''}"
        yield Diagnosis("TFG907", seen, remove + _install(facts, minor))


def of_the_libraries(facts: Facts) -> Iterator[Diagnosis]:
    """Libraries that are missing, of another version, or from elsewhere."""
    tensorflow = facts.tensorflow
    if tensorflow is None or not tensorflow.cuda:
        return
    build = builds().get(release(tensorflow.version))
    wrong = list(_wrong_wheels(facts, build)) if build is not None else []
    if wrong:
        yield Diagnosis("TFG913", "; ".join(wrong), _install(facts, ".".join(map(str, release(tensorflow.version)))))
    if has_card(facts):
        yield from _missing(facts, tensorflow, ".".join(map(str, release(tensorflow.version))))
    shadowed = [library for library in facts.libraries if _is_shadowed(library)]
    if shadowed:
        first = shadowed[0]
        others = len(shadowed) - 1
        more = f", and {others} more {'library' if others == 1 else 'libraries'}" if others else ""
        conda = f"; conda has {', '.join(facts.installation.conda)}" if facts.installation.conda else ""
        seen = f"{first.name} is {first.path}, not {first.wheel}{more}{conda}"
        shadows = "LD_LIBRARY_PATH" in facts.environment.variables
        yield Diagnosis("TFG912", seen, "unset LD_LIBRARY_PATH" if shadows else "")


def of_the_libraries_for_another_machine(facts: Facts) -> Iterator[Diagnosis]:
    """What keeps an installation from a GPU that is not here: it is a login node, or an image is built."""
    tensorflow = facts.tensorflow
    if tensorflow is None or not tensorflow.version or tensorflow.gpus or has_card(facts):
        return
    minor = ".".join(map(str, release(tensorflow.version)))
    if not tensorflow.cuda:
        if _has_builds_with_cuda(facts.environment):
            yield Diagnosis(
                "TFG937", f"TensorFlow {tensorflow.version} was built without CUDA", _with_cuda(facts, minor)
            )
    elif missing := unloaded(facts):
        seen = f"TensorFlow {tensorflow.version} was built for CUDA {tensorflow.cuda}; the loader cannot open"
        yield Diagnosis("TFG937", f"{seen} {', '.join(missing)}", _with_cuda(facts, minor))


def unloaded(facts: Facts) -> list[str]:
    """CUDA's libraries that TensorFlow would not be able to open; the driver's own comes with a GPU."""
    return [library.name for library in facts.libraries if library.error and library.name != _DRIVERS_OWN]


def _missing(facts: Facts, installed: TensorFlow, version: str) -> Iterator[Diagnosis]:
    """Libraries that the loader does not find, that TensorFlow's log names, or that are there and cannot be opened."""
    libraries = [library for library in facts.libraries if library.name != _DRIVERS_OWN]
    names = [library.name for library in libraries if library.error and not library.wheel]
    if not installed.gpus:
        names += [name for name in _UNLOADED.findall(installed.log) if name != _DRIVERS_OWN]
    if names:
        seen = f"the loader finds no {', '.join(dict.fromkeys(names))}"
        yield Diagnosis("TFG911", seen, _install(facts, version))
    for library in libraries:
        if library.wheel and library.error and not library.path and not installed.gpus:
            command = _install(facts, version).replace(" install ", " install --force-reinstall ")
            yield Diagnosis("TFG911", f"{library.wheel} cannot be opened: {library.error}", command)


def _wrong_wheels(facts: Facts, build: Build) -> Iterator[str]:
    packages = facts.installation.packages
    for name, wanted in build.wants.items():
        version = packages.get(name)
        try:
            if version is not None and not SpecifierSet(wanted).contains(version, prereleases=True):
                yield f"{name} is {version}, but TensorFlow requires {wanted}"
        except InvalidSpecifier:
            continue


def _is_shadowed(library: Library) -> bool:
    if not (library.path and library.wheel) or _WHEELS.search(library.path):
        return False
    return os.path.realpath(library.path) != os.path.realpath(library.wheel)


def of_keras(facts: Facts) -> Iterator[Diagnosis]:
    """A Keras that the TensorFlow does not go with."""
    tensorflow, packages = facts.tensorflow, facts.installation.packages
    build = builds().get(release(tensorflow.version)) if tensorflow is not None else None
    if tensorflow is not None and _wants_legacy_keras(facts, tensorflow):
        yield from _of_legacy_keras(facts, tensorflow)
        return
    version = packages.get("keras")
    if tensorflow is None or build is None or version is None or not build.keras:
        return
    if not SpecifierSet(build.keras).contains(version, prereleases=True):
        seen = f"Keras is {version}, but TensorFlow {tensorflow.version} requires {build.keras}"
        yield Diagnosis("TFG927", seen, f'{_pip(facts)} install "keras{build.keras}"')


def _wants_legacy_keras(facts: Facts, installed: TensorFlow) -> bool:
    value, _ = facts.variable("TF_USE_LEGACY_KERAS")
    return (value or "").lower() in ("1", "true") and release(installed.version) >= _LEGACY_SINCE


def _of_legacy_keras(facts: Facts, installed: TensorFlow) -> Iterator[Diagnosis]:
    version = facts.installation.packages.get("tf-keras")
    if version is None or release(version) != release(installed.version):
        has = "is not installed" if version is None else f"is {version}"
        seen = f"TF_USE_LEGACY_KERAS requires tf-keras, which {has}, and TensorFlow is {installed.version}"
        minor = ".".join(map(str, release(installed.version)))
        yield Diagnosis("TFG927", seen, f'{_pip(facts)} install "tf-keras=={minor}.*"')


def of_the_backend(facts: Facts) -> Iterator[Diagnosis]:
    """A Keras that computes with another framework."""
    value, setting = facts.variable("KERAS_BACKEND")
    if value and value != "tensorflow" and release(facts.installation.packages.get("keras", "")) >= (3, 0):
        yield _of_variable("TFG934", f"KERAS_BACKEND is {value}", "KERAS_BACKEND", setting)


def _of_variable(code: str, seen: str, name: str, setting: Setting | None) -> Diagnosis:
    """What a variable does that the program or the shell has set."""
    if setting is not None:
        return Diagnosis(code, seen, filename=setting.filename, row=setting.row)
    return Diagnosis(code, seen, f"unset {name}")


def of_xla(facts: Facts) -> Iterator[Diagnosis]:
    """What XLA needs to make code for a card."""
    tensorflow = facts.tensorflow
    for name, problem in _refused(facts):
        yield _of_variable("TFG935", problem, name, facts.variable(name)[1])
    value, setting = facts.variable("XLA_FLAGS")
    named = _CUDA_DIRECTORY.search(value or "")
    folder = Path(named[1].strip("'\"")) if named else None
    if named and folder is not None and not (folder / "nvvm" / "libdevice").is_dir():
        what = "has no nvvm/libdevice" if folder.is_dir() else "does not exist"
        yield _of_variable("TFG929", f"{named[0]} {what}", "XLA_FLAGS", setting)
    elif tensorflow is not None and tensorflow.cuda and facts.survey.gpus and not facts.installation.ptxas:
        yield Diagnosis("TFG919", "no ptxas on the path and none in nvidia/cuda_nvcc/bin", _install(facts, ""))


def _refused(facts: Facts) -> Iterator[tuple[str, str]]:
    """The variables with flags that TensorFlow refuses, each with why: by their form, or by what it said at its end."""
    said = facts.tensorflow.error if facts.tensorflow is not None else ""
    for name in ("XLA_FLAGS", "TF_XLA_FLAGS"):
        value = " ".join((facts.variable(name)[0] or "").split())
        if not value:
            continue
        if name == "XLA_FLAGS" and (problem := _problem_of_flags(value)):
            yield name, problem
        elif "Flag parsing failed" in said and f"usage: {value}" in said:
            yield name, f"{name} is `{value}`, which TensorFlow cannot read: a flag is unknown, or has no such value"
        elif f" {name}: " in said or f'"{name}"' in said:
            yield name, said.rpartition(_ENDED)[2]


def _problem_of_flags(value: str) -> str:
    """Why XLA refuses a value of `XLA_FLAGS`, by `parse_flags_from_env.cc`: "Unknown flag", "Could not open file"."""
    if not value.lstrip().startswith("--"):
        neither = f"XLA_FLAGS is `{value}`, which is neither a flag nor an existing file of flags"
        return "" if Path(value).is_file() else neither
    unknown = next((flag for flag in value.split() if flag.startswith("--") and not flag.startswith("--xla_")), "")
    return unknown and f"XLA_FLAGS has `{unknown}`, which is not an XLA flag"


def of_hiding(facts: Facts) -> Iterator[Diagnosis]:
    """What keeps cards from a process: a variable, or the program itself."""
    visible, own = facts.variable("CUDA_VISIBLE_DEVICES")
    entries = [part.strip() for part in (visible or "").split(",")]
    unknown = [entry for entry in entries if not _is_known(facts, entry)] if facts.survey.gpus else []
    for setting in facts.settings:
        hides = setting is own and (entries in ([""], ["-1"]) or bool(unknown))
        if hides or (setting.name == "tf.config.set_visible_devices" and setting.value == "[]"):
            seen = f"{setting.name} is set to {setting.value or 'an empty value'}"
            yield Diagnosis("TFG922", seen, filename=setting.filename, row=setting.row)
    if visible is None or own is not None or not facts.survey.gpus:
        return
    if not visible.strip() or unknown:
        count = len(facts.survey.gpus)
        cards = "one GPU" if count == 1 else f"{count} GPUs, numbered from 0"
        what = f"`{unknown[0]}`, which does not exist" if visible.strip() else "nothing"
        yield Diagnosis(
            "TFG914",
            f"CUDA_VISIBLE_DEVICES names {what}; NVML lists {cards}",
            "unset CUDA_VISIBLE_DEVICES",
        )


def _is_known(facts: Facts, entry: str) -> bool:
    if entry.isdigit():
        return int(entry) < len(facts.survey.gpus)
    if entry.startswith("MIG-"):
        parts = [gpu.mig_parts for gpu in facts.survey.gpus if gpu.mig]
        return any(known is None or any(part.startswith(entry) for part in known) for known in parts)
    return entry.startswith("GPU-") and any(gpu.uuid.startswith(entry) for gpu in facts.survey.gpus)


def of_operations(facts: Facts) -> Iterator[Diagnosis]:
    """Operations that failed, and a GPU that TensorFlow does not list for no reason that is known."""
    for operation in facts.operations:
        if operation.status != "answered" or "GPU" not in operation.ran_on:
            how = {"failed": f"raises {operation.message}", "out of time": "did not end in time"}.get(
                operation.status, f"ran on {operation.ran_on}"
            )
            yield Diagnosis("TFG920", f"{operation.name} on {operation.device} {how}")
    tensorflow = facts.tensorflow
    if (
        tensorflow is not None
        and tensorflow.cuda
        and facts.survey.gpus
        and not tensorflow.gpus
        and not tensorflow.error
    ):
        yield Diagnosis("TFG923", f"NVML shows {len(facts.survey.gpus)}, TensorFlow lists none")


def _python(facts: Facts) -> str:
    return facts.installation.executable or "this Python"


def _pip(facts: Facts) -> str:
    return f"{_python(facts) if facts.installation.executable else 'python'} -m pip"


def _with_cuda(facts: Facts, version: str) -> str:
    """The command that makes of an installation one with CUDA, whatever this machine has."""
    wrong = [name for name in _SAME_MODULE if name in facts.installation.packages and name != "tensorflow"]
    remove = f"{_pip(facts)} uninstall -y {' '.join(wrong)} && " if wrong else ""
    return remove + _install(facts, version, with_cuda=True)


def _install(facts: Facts, version: str, *, with_cuda: bool = False) -> str:
    """The command that installs TensorFlow, with CUDA's libraries where there is a card."""
    extra = "[and-cuda]" if (with_cuda or has_card(facts)) and (not version or release(version) >= (2, 14)) else ""
    pinned = f"=={version}.*" if version else ""
    return f'{_pip(facts)} install "tensorflow{extra}{pinned}"'
