"""What is wrong with the machine: its driver, its cards, its container."""

from __future__ import annotations

from collections.abc import Iterator

from tflint_gpu.doctor.compatibility import is_older, least_driver, newest_for_card, runs_on
from tflint_gpu.doctor.diagnosis import Diagnosis
from tflint_gpu.doctor.facts import Facts
from tflint_gpu.gpu.cards import Gpu

_MOSTLY = 0.9
# What `cuInit` returns where NVML works (CUDA's driver API, `CUresult`), and the command that helps.
_STARTS = {
    802: (
        "CUDA_ERROR_SYSTEM_NOT_READY: the NVSwitch fabric manager is not running",
        "sudo systemctl start nvidia-fabricmanager",
    ),
    803: ("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: libcuda.so.1 is of another version than the driver", "sudo reboot"),
    804: ("CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: libcuda.so.1 is loaded from a CUDA `compat` folder", ""),
    999: (
        "CUDA_ERROR_UNKNOWN: usually after the machine has slept",
        "sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm",
    ),
}
_CUDA = "libcuda.so.1"
_FORBIDDEN = "Start the container or the job with the GPU, so that its cgroup allows the device."
_POD = "Ask for one in the pod: `resources: {limits: {nvidia.com/gpu: 1}}`."
_WITH_GPUS = {
    "docker": "docker run --gpus all IMAGE",
    "podman": "podman run --device nvidia.com/gpu=all IMAGE",
    "singularity": "singularity exec --nv IMAGE",
}


def has_card(facts: Facts) -> bool:
    """Whether anything shows that there is an NVIDIA card."""
    return bool(facts.survey.gpus or facts.environment.cards or facts.survey.state == "lost")


def of_the_driver(facts: Facts) -> Iterator[Diagnosis]:
    """No driver, two versions of it, or one that is too old."""
    around, survey = facts.environment, facts.survey
    if around.wsl and not around.wsl_driver and not survey.gpus:
        yield Diagnosis("TFG918", "/usr/lib/wsl/lib/libcuda.so.1 does not exist")
    elif "version" in survey.note.lower() and "mismatch" in survey.note.lower():
        loaded = f"the driver that is loaded is {around.kernel_driver}: " if around.kernel_driver else ""
        yield Diagnosis("TFG902", f"{loaded}{survey.note}", "sudo reboot")
    elif around.cards and not (survey.gpus or around.kernel_driver or around.container or survey.state == "lost"):
        cards = "one NVIDIA GPU" if around.cards == 1 else f"{around.cards} NVIDIA GPUs"
        are, them = ("is" if len(around.bound) == 1 else "are"), ("it" if around.cards == 1 else "them")
        other = f"; {' and '.join(around.bound)} {are} bound to {them} instead" if around.bound else ""
        yield Diagnosis("TFG901", f"the PCI bus has {cards}, and no driver is loaded ({survey.note}){other}")
    driver = next((gpu.driver for gpu in survey.gpus), around.kernel_driver)
    cuda = facts.tensorflow.cuda if facts.tensorflow is not None else ""
    least = least_driver(cuda) if cuda else ""
    if driver and least and is_older(driver, least):
        seen = f"the driver is {driver}; CUDA {cuda}, which TensorFlow was built with, needs {least} or newer"
        yield Diagnosis("TFG903", seen)


def of_cuda(facts: Facts) -> Iterator[Diagnosis]:
    """A driver that answers, while CUDA does not start."""
    around, tensorflow = facts.environment, facts.tensorflow
    if not facts.survey.gpus or tensorflow is None or tensorflow.gpus:
        return
    files = [name for name, _ in around.device_files]
    if any(library.name == _CUDA and library.error for library in facts.libraries):
        yield Diagnosis("TFG931", f"the loader finds no {_CUDA}, although NVML works", _with_compute(facts))
    elif around.system == "Linux" and files and not around.wsl and "/dev/nvidia-uvm" not in files:
        command = _WITH_GPUS.get(around.container, "") if around.container else "sudo nvidia-modprobe -u -c 0"
        yield Diagnosis("TFG931", "/dev/nvidia-uvm does not exist; CUDA needs it, NVML does not", command)
    elif tensorflow.cuda_start in _STARTS:
        seen, command = _STARTS[tensorflow.cuda_start]
        yield Diagnosis("TFG931", f"CUDA does not start: {seen}", command)


def _with_compute(facts: Facts) -> str:
    """The command that brings the driver's library for CUDA."""
    if facts.environment.wsl:
        return "export LD_LIBRARY_PATH=/usr/lib/wsl/lib"
    if facts.environment.container == "docker":
        return "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE"
    return _WITH_GPUS.get(facts.environment.container, "")


def of_the_container(facts: Facts) -> Iterator[Diagnosis]:
    """Device files that are not there, or that are closed."""
    around = facts.environment
    cards = [name for name, _ in around.device_files if name.removeprefix("/dev/nvidia").isdigit()]
    wanted = around.variables.get("NVIDIA_VISIBLE_DEVICES", "")
    is_expected = has_card(facts) or around.kernel_driver or wanted not in ("", "void", "none")
    if is_expected and around.container and not (cards or around.wsl or facts.survey.gpus):
        shown = f" although NVIDIA_VISIBLE_DEVICES is {wanted}" if wanted else ""
        seen = f"no /dev/nvidia0 in this container ({around.container}){shown}"
        todo = _POD if around.container == "kubernetes" else ""
        yield Diagnosis("TFG915", seen, _WITH_GPUS.get(around.container, ""), todo=todo)
    if around.forbidden:
        where = around.container or ("Slurm job" if "SLURM_JOB_ID" in around.variables else "container or job")
        files = ", ".join(around.forbidden)
        seen = f"{files} cannot be opened although the mode allows it: a cgroup of this {where} forbids it"
        yield Diagnosis("TFG916", seen, _WITH_GPUS.get(around.container, ""), todo=_FORBIDDEN)
    closed = [name for name, is_open in around.device_files if not is_open]
    if closed:
        yield Diagnosis(
            "TFG916", f"no permission to read and write {', '.join(closed)}", "sudo usermod -aG video,render $USER"
        )


def of_the_job(facts: Facts) -> Iterator[Diagnosis]:
    """A Slurm job without a GPU."""
    variables = facts.environment.variables
    numbers = [variables.get(f"SLURM_{name}", "") for name in ("JOB_GPUS", "STEP_GPUS")]  # "0" is the first card
    counts = [variables.get(f"SLURM_{name}", "") for name in ("GPUS", "GPUS_ON_NODE")]
    if "SLURM_JOB_ID" in variables and not any(numbers) and not any(count not in ("", "0") for count in counts):
        seen = f"Slurm job {variables['SLURM_JOB_ID']} has no GPU"
        if has_card(facts) or variables.get("CUDA_VISIBLE_DEVICES") in ("", "NoDevFiles", "-1"):
            yield Diagnosis("TFG917", seen, "sbatch --gpus=1 ...")


def of_the_cards(facts: Facts) -> Iterator[Diagnosis]:
    """Cards that are too old, broken, full, divided or slow."""
    built = facts.tensorflow.capabilities if facts.tensorflow is not None and facts.tensorflow.cuda else ()
    if facts.survey.state == "lost":
        yield Diagnosis("TFG905", facts.survey.note or "a GPU does not answer")
    for gpu in facts.survey.gpus:
        name = f"GPU {gpu.index} ({gpu.name})"
        if gpu.capability is not None and built and not runs_on(built, gpu.capability):
            shown = ".".join(map(str, gpu.capability))
            last = newest_for_card(gpu.capability)
            seen = f"{name} has compute capability {shown}; TensorFlow has code for {', '.join(built)}"
            yield Diagnosis("TFG904", seen, f'pip install "tensorflow=={last}.*"' if last else "")
        if gpu.ecc_errors:
            errors = "error" if gpu.ecc_errors == 1 else "errors"
            yield Diagnosis("TFG905", f"{name} reports {gpu.ecc_errors} uncorrectable memory {errors}")
        if gpu.total_memory and gpu.free_memory is not None and gpu.free_memory < (1 - _MOSTLY) * gpu.total_memory:
            holders = ", ".join(f"process {pid}" for pid, _ in gpu.holders) or "processes that NVML does not show here"
            free, total = gpu.free_memory >> 20, gpu.total_memory >> 20
            yield Diagnosis("TFG906", f"{name} has {free} of {total} MiB free; it is held by {holders}")
        yield from _of_the_mode(gpu, name, facts)
        if gpu.mig and gpu.mig_parts == ():
            yield Diagnosis("TFG932", f"MIG is on for {name}, but it has no MIG instances")
        elif gpu.mig:
            yield Diagnosis("TFG925", f"MIG is on for {name}", "nvidia-smi -L")
        if gpu.slowed:
            yield Diagnosis("TFG926", f"{name} is throttled: {', '.join(gpu.slowed)}")


def _of_the_mode(gpu: Gpu, name: str, facts: Facts) -> Iterator[Diagnosis]:
    if gpu.mode == "prohibited":
        yield Diagnosis("TFG933", f"no process may use {name}", f"sudo nvidia-smi -i {gpu.index} -c DEFAULT")
    elif gpu.mode == "exclusive" and gpu.holders and not any(operation.ran_on for operation in facts.operations):
        holders = ", ".join(f"process {pid}" for pid, _ in gpu.holders)
        yield Diagnosis("TFG933", f"only one process at a time may use {name}, and {holders} is using it")


def of_a_machine_without_cards(facts: Facts) -> Iterator[Diagnosis]:
    """None at all; what TensorFlow lists all the same is another maker's."""
    if facts.tensorflow is not None and facts.tensorflow.gpus:
        return
    if not (has_card(facts) or facts.environment.kernel_driver or facts.environment.wsl):
        seen = (
            "; ".join(filter(None, [_on_the_bus(facts), facts.survey.note]))
            or "neither the driver nor the bus shows a GPU"
        )
        if facts.environment.system == "Darwin":
            seen += "; the Mac's built-in GPU needs the package tensorflow-metal"
        if facts.environment.container and facts.environment.cards is None:
            seen += "; a container that was started without its host's GPUs looks the same"
        if job := facts.environment.variables.get("SLURM_JOB_ID"):
            seen += f"; Slurm job {job} runs here, and `--gpus=1` would ask for a machine with one"
        yield Diagnosis("TFG924", seen)


def _on_the_bus(facts: Facts) -> str:
    around = facts.environment
    if around.cards is None:
        return "" if around.system != "Linux" else "/sys/bus/pci/devices does not exist, so there is no list of devices"
    devices = "one device" if around.pci_devices == 1 else f"{around.pci_devices or 'no'} devices"
    return f"/sys/bus/pci/devices lists {devices}, none of them an NVIDIA GPU (vendor 0x10de)"
