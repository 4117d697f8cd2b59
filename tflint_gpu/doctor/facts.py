"""What was seen of a machine and an installation, without a judgement."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from tflint_gpu.gpu.cards import Survey
from tflint_gpu.lazy_dataclasses import dataclass

Status = Literal["answered", "failed", "out of time"]


@dataclass(frozen=True, slots=True)
class Environment:
    """What the operating system shows.

    Arguments:
        system: "Linux", "Windows", "Darwin".
        machine: "x86_64", "aarch64", "arm64".
        cards: NVIDIA's display devices on the PCI bus; None where nothing tells.
        pci_devices: how many devices of any kind `/sys/bus/pci/devices` lists.
        kernel_driver: the version of the driver that is loaded.
        wsl: whether this is Linux below Windows.
        wsl_driver: whether the directory in which WSL shows the driver is there.
        container: what kind of container this is, empty for none.
        device_files: `/dev/nvidia0` and the like, and whether this user may read and write them.
        forbidden: those of them that cannot be opened although their mode allows it.
        bound: what drives the cards instead of NVIDIA's driver: "nouveau", "vfio-pci".
        variables: of the environment, those that decide about GPUs.
    """

    system: str = "Linux"
    machine: str = "x86_64"
    cards: int | None = None
    pci_devices: int = 0
    kernel_driver: str = ""
    wsl: bool = False
    wsl_driver: bool = False
    container: str = ""
    device_files: tuple[tuple[str, bool], ...] = ()
    forbidden: tuple[str, ...] = ()
    bound: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Library:
    """A shared library that TensorFlow's build opens.

    Arguments:
        name: as it is opened: "libcudnn.so.9".
        path: the file that the loader gives in the process of TensorFlow; empty where it gives none.
        wheel: the file of a wheel that has it, if one has.
        error: what the loader says.
    """

    name: str
    path: str = ""
    wheel: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Shadow:
    """A file that a program gets for a module of TensorFlow or of Python's library.

    Arguments:
        name: of the module.
        path: of the file.
        is_beside: whether it lies in the program's folder, and not on PYTHONPATH.
    """

    name: str
    path: str
    is_beside: bool


@dataclass(frozen=True, slots=True)
class TensorFlow:
    """The TensorFlow that a Python imports.

    Arguments:
        error: why it cannot be imported, empty if it can.
        cuda: the CUDA that it was built with, empty for a build without.
        capabilities: "sm_60" for code that is in it, "compute_90" for what the driver makes code of.
        gpus: as `tf.config.list_physical_devices("GPU")` names them.
        cuda_start: what CUDA says when it starts (`cuInit`): 0 is well; None where it was not tried.
        keras: the version of `tf.keras`, or why there is none.
        log: what it wrote to standard error meanwhile.
    """

    version: str = ""
    error: str = ""
    cuda: str = ""
    cudnn: str = ""
    capabilities: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    cuda_start: int | None = None
    keras: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True)
class Installation:
    """What a Python has.

    Arguments:
        packages: versions by name: all with tensorflow, keras or nvidia in their names.
        conda: packages of a conda environment that bring CUDA's libraries.
        ptxas: where the assembler is that XLA runs, empty for nowhere.
    """

    executable: str = ""
    python: str = ""
    packages: dict[str, str] = field(default_factory=dict)
    conda: tuple[str, ...] = ()
    ptxas: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation that was tried on a GPU: "matmul", "convolution", "LSTM", "XLA"."""

    device: str
    name: str
    status: Status = "answered"
    ran_on: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a program sets before its first operation: a variable of the environment, or a call of `tf.config`."""

    name: str
    value: str
    filename: str
    row: int


@dataclass(frozen=True, slots=True)
class Facts:
    """All that was seen.

    Arguments:
        silent: the probes that failed or were out of time, and how.
    """

    survey: Survey = field(default_factory=lambda: Survey("no GPU"))
    environment: Environment = field(default_factory=Environment)
    installation: Installation = field(default_factory=Installation)
    tensorflow: TensorFlow | None = None
    libraries: tuple[Library, ...] = ()
    operations: tuple[Operation, ...] = ()
    settings: tuple[Setting, ...] = ()
    silent: tuple[tuple[str, str], ...] = ()
    shadows: tuple[Shadow, ...] = ()

    def variable(self, name: str) -> tuple[str | None, Setting | None]:
        """What a variable holds when TensorFlow starts, and the program's own line that says so, if one does."""
        own = [setting for setting in self.settings if setting.name == name]
        return (own[-1].value, own[-1]) if own else (self.environment.variables.get(name), None)
