"""What is wrong with the machine: its driver, its cards, its container."""

from __future__ import annotations

from collections.abc import Iterator

from tflint_gpu.doctor.compatibility import is_older, least_driver, newest_for_card, runs_on
from tflint_gpu.doctor.diagnosis import Diagnosis
from tflint_gpu.doctor.facts import Facts

_MOSTLY = 0.9
_WITH_GPUS = {
    "docker": "docker run --gpus all IMAGE",
    "podman": "podman run --device nvidia.com/gpu=all IMAGE",
    "singularity": "singularity exec --nv IMAGE",
}


def has_card(facts: Facts) -> bool:
    """Whether anything shows that there is an NVIDIA card."""
    return bool(facts.survey.gpus or facts.surroundings.cards or facts.survey.state == "lost")


def of_the_driver(facts: Facts) -> Iterator[Diagnosis]:
    """No driver, two versions of it, or one that is too old."""
    around, survey = facts.surroundings, facts.survey
    if around.wsl and not around.wsl_driver and not survey.gpus:
        yield Diagnosis("TFG918", "/usr/lib/wsl/lib/libcuda.so.1 is not there")
    elif "version" in survey.note.lower() and "mismatch" in survey.note.lower():
        loaded = f"the driver that is loaded is {around.kernel_driver}: " if around.kernel_driver else ""
        yield Diagnosis("TFG902", f"{loaded}{survey.note}", "sudo reboot")
    elif around.cards and not (survey.gpus or around.kernel_driver or around.container or survey.state == "lost"):
        cards = "one NVIDIA card" if around.cards == 1 else f"{around.cards} NVIDIA cards"
        yield Diagnosis("TFG901", f"the PCI bus has {cards}, and no driver is loaded ({survey.note})")
    driver = next((gpu.driver for gpu in survey.gpus), around.kernel_driver)
    cuda = facts.tensorflow.cuda if facts.tensorflow is not None else ""
    least = least_driver(cuda) if cuda else ""
    if driver and least and is_older(driver, least):
        seen = f"the driver is {driver}; CUDA {cuda}, which TensorFlow was built with, needs {least} or newer"
        yield Diagnosis("TFG903", seen)


def of_the_container(facts: Facts) -> Iterator[Diagnosis]:
    """Device files that are not there, or that are closed."""
    around = facts.surroundings
    cards = [name for name, _ in around.device_files if name.removeprefix("/dev/nvidia").isdigit()]
    wanted = around.variables.get("NVIDIA_VISIBLE_DEVICES", "")
    is_expected = has_card(facts) or around.kernel_driver or wanted not in ("", "void", "none")
    if is_expected and around.container and not (cards or around.wsl or facts.survey.gpus):
        shown = f" although NVIDIA_VISIBLE_DEVICES is {wanted}" if wanted else ""
        seen = f"no /dev/nvidia0 in this container ({around.container}){shown}"
        yield Diagnosis("TFG915", seen, _WITH_GPUS.get(around.container, ""))
    closed = [name for name, is_open in around.device_files if not is_open]
    if closed:
        yield Diagnosis(
            "TFG916", f"no right to read and write {', '.join(closed)}", "sudo usermod -aG video,render $USER"
        )


def of_the_job(facts: Facts) -> Iterator[Diagnosis]:
    """A job of Slurm without a GPU."""
    variables = facts.surroundings.variables
    given = [variables.get(f"SLURM_{name}", "") for name in ("JOB_GPUS", "STEP_GPUS", "GPUS", "GPUS_ON_NODE")]
    if "SLURM_JOB_ID" in variables and not any(one not in ("", "0") for one in given):
        seen = f"job {variables['SLURM_JOB_ID']} of Slurm has no GPU"
        if has_card(facts) or variables.get("CUDA_VISIBLE_DEVICES") in ("", "NoDevFiles", "-1"):
            yield Diagnosis("TFG917", seen, "sbatch --gpus=1 ...")


def of_the_cards(facts: Facts) -> Iterator[Diagnosis]:
    """Cards that are too old, broken, full, divided or slow."""
    built = facts.tensorflow.capabilities if facts.tensorflow is not None and facts.tensorflow.cuda else ()
    if facts.survey.state == "lost":
        yield Diagnosis("TFG905", facts.survey.note or "a card does not answer")
    for gpu in facts.survey.gpus:
        name = f"GPU {gpu.index} ({gpu.name})"
        if gpu.capability is not None and built and not runs_on(built, gpu.capability):
            shown = ".".join(map(str, gpu.capability))
            last = newest_for_card(gpu.capability)
            seen = f"{name} has compute capability {shown}; TensorFlow has code for {', '.join(built)}"
            yield Diagnosis("TFG904", seen, f'pip install "tensorflow=={last}.*"' if last else "")
        if gpu.ecc_errors:
            yield Diagnosis("TFG905", f"{name} counts {gpu.ecc_errors} memory errors that it could not correct")
        if gpu.total_memory and gpu.free_memory is not None and gpu.free_memory < (1 - _MOSTLY) * gpu.total_memory:
            holders = ", ".join(f"process {pid}" for pid, _ in gpu.holders) or "processes that NVML does not show here"
            free, total = gpu.free_memory >> 20, gpu.total_memory >> 20
            yield Diagnosis("TFG906", f"{name} has {free} of {total} MiB free; it is held by {holders}")
        if gpu.mig:
            yield Diagnosis("TFG925", f"MIG is on for {name}", "nvidia-smi -L")
        if gpu.slowed:
            yield Diagnosis("TFG926", f"{name} is slowed by {', '.join(gpu.slowed)}")


def of_a_machine_without_cards(facts: Facts) -> Iterator[Diagnosis]:
    """None at all."""
    if not (has_card(facts) or facts.surroundings.kernel_driver or facts.surroundings.wsl):
        yield Diagnosis("TFG924", facts.survey.note or "neither the driver nor the PCI bus shows a card")
