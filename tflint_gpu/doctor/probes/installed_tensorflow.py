"""Prints, as JSON, which TensorFlow is imported, what it was built for, which GPUs it sees, and what the loader opens.

TensorFlow's own log goes to standard error, where whoever runs this reads it.
"""

import sys

# Python's own library first: a file on PYTHONPATH may have the name of one of its modules.
_LIBRARY = (f"python{sys.version_info[0]}.{sys.version_info[1]}", "lib-dynload", ".zip")
sys.path.sort(key=lambda entry: not entry.endswith(_LIBRARY))

_LOADED_BEFORE = frozenset(sys.modules)  # a program's own folder is looked in only later

import ctypes  # noqa: E402
import importlib.machinery  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

# By CUDA's version: the names under which TensorFlow opens CUDA's libraries.
LIBRARIES = {
    "10": "libcudart.so.10.1 libcublas.so.10 libcufft.so.10 libcurand.so.10 libcusolver.so.10 libcusparse.so.10",
    "11": "libcudart.so.11.0 libcublas.so.11 libcublasLt.so.11 libcufft.so.10 libcusolver.so.11 libcusparse.so.11",
    "12": "libcudart.so.12 libcublas.so.12 libcublasLt.so.12 libcufft.so.11 libcusolver.so.11 libcusparse.so.12",
}

DRIVER = "libcuda.so.1"
_PARTS = ("python", "_api", "src", "api", "engine")  # folders that only the real packages have


def main() -> None:
    """Look, and print one line."""
    # Another program may print on standard output while it is imported.
    result = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    on_path = _leave_out_shadows()
    facts = _look()
    folder = sys.argv[1] if len(sys.argv) > 1 else ""
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    facts["shadows"] = [*(_of_pythons([folder], True) if folder else ()), *on_path, *_of_pythons(entries, False)]
    result.write(json.dumps(facts) + "\n")
    result.flush()


def _leave_out_shadows() -> "list[dict[str, Any]]":
    """What is found as TensorFlow and is none; its folders are left out, so that the installed one is looked at.

    It is the user's own file, which may be a whole training: it is not run.
    """
    shadows = []
    file = _shadow("tensorflow", sys.path)
    while file:
        shadows.append({"name": "tensorflow", "path": file, "is_beside": False})
        kept = [entry for entry in sys.path if Path(entry or ".").resolve() != _folder_of(file)]
        file = _shadow("tensorflow", kept) if len(kept) < len(sys.path) else ""
        sys.path[:] = kept
    return shadows


def _of_pythons(folders: "list[str]", is_beside: bool) -> "list[dict[str, Any]]":
    """What lies in folders under the name of a module of Python's library that TensorFlow, or what it needs, imports.

    Arguments:
        is_beside: whether it is the program's folder, where TensorFlow itself is looked for, too.
    """
    names = {name.partition(".")[0] for name in sys.modules} - _LOADED_BEFORE - set(sys.builtin_module_names)
    looked_for = [
        *(("tensorflow", "keras") if is_beside else ()),
        *(name for name in sorted(names) if _is_pythons(name)),
    ]
    files = [(name, _shadow(name, folders)) for name in looked_for]
    return [{"name": name, "path": file, "is_beside": is_beside} for name, file in files if file]


def _shadow(name: str, folders: "list[str]") -> str:
    """The file that these folders have for a module; empty for none and for the TensorFlow that is one."""
    spec = importlib.machinery.PathFinder.find_spec(name, folders)
    if spec is None or not spec.origin or not Path(spec.origin).is_file():
        return ""
    inside = list(spec.submodule_search_locations or ())
    is_it = name in ("tensorflow", "keras") and any(Path(folder, kind).is_dir() for folder in inside for kind in _PARTS)
    return "" if is_it else spec.origin


def _folder_of(file: str) -> Path:
    """In which a module was found, which may be a folder itself."""
    path = Path(file).resolve()
    return path.parent.parent if path.name == "__init__.py" else path.parent


def _is_pythons(name: str) -> bool:
    home = Path(os.__file__).parent
    spec = importlib.machinery.PathFinder.find_spec(name, [str(home), str(home / "lib-dynload")])
    return spec is not None and bool(spec.origin)


def _look() -> "dict[str, Any]":
    try:
        import tensorflow as tf
    except BaseException as error:
        return {"tensorflow": {"error": f"{type(error).__name__}: {error}"}, "libraries": []}
    version = getattr(tf, "__version__", "")
    try:
        build = dict(tf.sysconfig.get_build_info())
    except Exception:  # before 2.3
        build = {"is_cuda_build": bool(getattr(getattr(tf, "test", None), "is_built_with_cuda", bool)())}
    gpus, problem = [], ""
    try:
        gpus = [device.name for device in tf.config.list_physical_devices("GPU")]
    except Exception as failure:
        problem = f"{type(failure).__name__}: {failure}"
    try:
        keras = str(getattr(tf.keras, "__version__", "") or sys.modules["keras"].__version__)
    except Exception as failure:
        keras = f"{type(failure).__name__}: {failure}"
    cuda = str(build.get("cuda_version", "")) if build.get("is_cuda_build") else ""
    cudnn = str(build.get("cudnn_version", "")) if cuda else ""
    return {
        "tensorflow": {
            "version": version,
            "error": problem,
            "cuda": cuda,
            "cudnn": cudnn,
            "cuda_start": _start() if cuda else None,
            "capabilities": list(build.get("cuda_compute_capabilities", ())),
            "gpus": gpus,
            "keras": keras,
        },
        "libraries": [*_libraries(_names(cuda, cudnn)), *([_library(DRIVER, "")] if cuda else [])],
    }


def _start() -> "int | None":
    """Start CUDA, as TensorFlow does."""
    try:
        return int(ctypes.CDLL(DRIVER).cuInit(0))
    except (OSError, AttributeError):
        return None


def _names(cuda: str, cudnn: str) -> "list[str]":
    names = LIBRARIES.get(cuda.partition(".")[0], "").split()
    return [*names, f"libcudnn.so.{cudnn.partition('.')[0]}"] if names else []


def _libraries(names: "list[str]") -> "list[dict[str, str]]":
    """Ask the loader, in the process in which TensorFlow has opened what it could.

    What it has not opened is opened from the wheels, again and again while that gets on: they need each other.
    """
    wheels = {name: _wheel(name) for name in names}
    libraries = {name: _library(name, wheels[name]) for name in names}
    counts = [-2, -1]
    while counts[-2] != counts[-1]:
        for name in [name for name, library in libraries.items() if library["error"] and library["wheel"]]:
            try:
                ctypes.CDLL(wheels[name])
                libraries[name]["error"] = ""
            except OSError as error:
                libraries[name]["error"] = str(error)
        counts.append(sum(not library["error"] for library in libraries.values()))
    return list(libraries.values())


def _wheel(name: str) -> str:
    return next((str(path) for folder in sys.path for path in Path(folder).glob(f"nvidia/*/lib/{name}")), "")


def _library(name: str, wheel: str) -> "dict[str, str]":
    try:
        ctypes.CDLL(name)
    except OSError as error:
        return {"name": name, "path": "", "wheel": wheel, "error": str(error)}
    return {"name": name, "path": _loaded(name), "wheel": wheel, "error": ""}


def _loaded(name: str) -> str:
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
        paths = [line.split(None, 5)[5].strip() for line in maps if name in line]
    except (OSError, IndexError):
        return ""
    return paths[0] if paths else ""


if __name__ == "__main__":
    main()
