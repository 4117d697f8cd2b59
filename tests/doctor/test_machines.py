"""Machines that are not there: each gets the diagnosis that somebody who knows CUDA would give, and one next step."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace

import pytest

from tflint_gpu.doctor.compatibility import builds
from tflint_gpu.doctor.diagnosis import known
from tflint_gpu.doctor.facts import (
    Environment,
    Facts,
    Installation,
    Library,
    Operation,
    Setting,
    Shadow,
    TensorFlow,
)
from tflint_gpu.doctor.machine_report import report_on
from tflint_gpu.doctor.reports import as_text
from tflint_gpu.gpu.cards import Gpu, Survey

GIB = 1 << 30
CARD = Gpu(0, "NVIDIA H100", "GPU-aaa", "580.65.06", 80 * GIB, 79 * GIB, False, (9, 0), True, 0)
FILES = (("/dev/nvidia0", True), ("/dev/nvidiactl", True), ("/dev/nvidia-uvm", True))
AROUND = Environment(cards=1, kernel_driver="580.65.06", device_files=FILES)
NO_CARD = Environment(cards=0)
NO_DRIVER = Survey("no driver", note="NVML does not start: Driver Not Loaded")
NO_LIBRARY = Survey("no library", note="NVML does not start: NVML Shared Library Not Found")
BUILT = builds()[2, 21]
WHEELS = {
    "tensorflow": "2.21.0", "keras": "3.15.0", "nvidia-cudnn-cu12": "9.3.0.75", "nvidia-cublas-cu12": "12.5.3.2",
}  # fmt: skip
PYTHON = Installation("/venv/bin/python", "3.11", WHEELS, ptxas="/venv/nvidia/cuda_nvcc/bin/ptxas")
TF = TensorFlow("2.21.0", "", BUILT.cuda, BUILT.cudnn, BUILT.capabilities, ("/physical_device:GPU:0",), "3.15.0")
CPU_TF = TensorFlow("2.21.0", keras="3.15.0")
SITE = "/venv/lib/python3.11/site-packages/nvidia"
LIBRARIES = tuple(
    Library(name, f"{SITE}/{folder}/lib/{name}", f"{SITE}/{folder}/lib/{name}")
    for folder, name in (("cudnn", "libcudnn.so.9"), ("cublas", "libcublas.so.12"), ("cuda_runtime", "libcudart.so.12"))
)
DONE = tuple(
    Operation("/GPU:0", name, ran_on="/job:localhost/replica:0/task:0/device:GPU:0")
    for name in ("matmul", "convolution", "LSTM", "XLA")
)
ENDED = "the process that imports it was aborted by TensorFlow: "
MAC = Environment(system="Darwin", machine="arm64")
METAL = replace(PYTHON, packages={"tensorflow": "2.18.0", "tensorflow-metal": "1.1.0"})
GOOD = Facts(Survey("ready", (CARD,)), AROUND, PYTHON, TF, LIBRARIES, DONE)
BLIND = replace(GOOD, tensorflow=replace(TF, gpus=()), operations=())  # TensorFlow lists none


def around(**given: object) -> Environment:
    return replace(AROUND, **given)


def card(**given: object) -> Survey:
    return Survey("ready", (replace(CARD, **given),))


def packages(**given: str) -> Installation:
    return replace(PYTHON, packages={**WHEELS, **{name.replace("_", "-"): version for name, version in given.items()}})


@dataclass(frozen=True)
class Machine:
    """What is seen of it, the codes in their order, the exit code, and words of the next step."""

    facts: Facts
    codes: tuple[str, ...]
    exit_code: int
    next_step: str


MACHINES = {
    "all is well": Machine(GOOD, (), 0, "tflint-gpu check"),
    "a laptop without a card": Machine(
        Facts(NO_LIBRARY, NO_CARD, PYTHON, CPU_TF), ("TFG924", "TFG937"), 3, "no NVIDIA GPU"
    ),
    "a CUDA build without a card": Machine(
        Facts(NO_LIBRARY, NO_CARD, PYTHON, replace(TF, gpus=())), ("TFG924",), 3, "no NVIDIA GPU"
    ),
    "a card without a driver": Machine(
        Facts(NO_LIBRARY, around(kernel_driver="", device_files=()), PYTHON, replace(TF, gpus=())),
        ("TFG901",), 1, "Install your distribution's driver",
    ),
    "a driver that is not loaded": Machine(
        Facts(NO_DRIVER, around(kernel_driver="", device_files=()), PYTHON, replace(TF, gpus=())),
        ("TFG901",), 1, "driver",
    ),
    "a driver that was updated meanwhile": Machine(
        replace(BLIND, survey=Survey("no driver", note="NVML does not start: Driver/library version mismatch")),
        ("TFG902",), 1, "reboot",
    ),
    "a driver for an older CUDA": Machine(
        replace(BLIND, survey=card(driver="470.256.02"), environment=around(kernel_driver="470.256.02")),
        ("TFG903",), 1, "Update the driver",
    ),
    "a card that TensorFlow has no code for": Machine(
        replace(BLIND, survey=card(name="Tesla K80", capability=(3, 7))), ("TFG904",), 1, "tensorflow==2.14.*"
    ),
    "a card that is newer than TensorFlow": Machine(
        replace(GOOD, survey=card(name="NVIDIA B200", capability=(10, 0))), (), 0, "tflint-gpu check"
    ),
    "a card that fell off the bus": Machine(
        replace(BLIND, survey=Survey("lost", note="no answer from GPU 0")), ("TFG905",), 1, "Reset the GPU"
    ),
    "a card with broken memory": Machine(replace(GOOD, survey=card(ecc_errors=3)), ("TFG905",), 1, "Reset the GPU"),
    "a card that somebody fills": Machine(
        replace(GOOD, survey=card(free_memory=GIB, holders=((4711, 78 * GIB),))), ("TFG906",), 0, "Wait for these processes"
    ),
    "the package without CUDA": Machine(
        replace(GOOD, tensorflow=CPU_TF, libraries=(), operations=(),
                installation=replace(PYTHON, packages={"tensorflow-cpu": "2.21.0", "keras": "3.15.0"})),
        ("TFG907",), 1, 'uninstall -y tensorflow-cpu && /venv/bin/python -m pip install "tensorflow[and-cuda]==2.21.*"',
    ),
    "Windows without WSL": Machine(
        replace(GOOD, environment=around(system="Windows", machine="AMD64"), tensorflow=CPU_TF, libraries=(), operations=()),
        ("TFG908",), 1, "WSL",
    ),
    "an ARM server": Machine(
        replace(GOOD, environment=around(machine="aarch64"), tensorflow=CPU_TF, libraries=(), operations=()),
        ("TFG908",), 1, "container",
    ),
    "no TensorFlow at all": Machine(
        Facts(Survey("ready", (CARD,)), AROUND, replace(PYTHON, packages={}),
              TensorFlow(error="ModuleNotFoundError: No module named 'tensorflow'")),
        ("TFG909",), 1, 'pip install "tensorflow[and-cuda]==2.21.*"',
    ),
    "a TensorFlow that cannot be imported": Machine(
        replace(GOOD, tensorflow=TensorFlow(error="ImportError: numpy.core.multiarray failed to import"),
                libraries=(), operations=()),
        ("TFG909",), 1, "shows the whole message",
    ),
    "a Python that is too new": Machine(
        Facts(Survey("ready", (CARD,)), AROUND, Installation("/usr/bin/python3", "3.15"),
              TensorFlow(error="ModuleNotFoundError: No module named 'tensorflow'")),
        ("TFG921",), 1, "Use Python 3.10 to ",
    ),
    "two TensorFlows": Machine(
        replace(GOOD, installation=packages(tensorflow_cpu="2.20.0"), tensorflow=CPU_TF, libraries=(), operations=()),
        ("TFG907", "TFG910"), 1, "uninstall -y tensorflow tensorflow-cpu",
    ),
    "the empty package": Machine(
        replace(GOOD, installation=replace(PYTHON, packages={"tensorflow-gpu": "2.12.0"}), tensorflow=TensorFlow(
            error="ModuleNotFoundError: No module named 'tensorflow'"), libraries=(), operations=()),
        ("TFG909", "TFG928"), 1, "Install it",
    ),
    "no cuDNN": Machine(
        replace(BLIND, libraries=(*LIBRARIES[1:], Library("libcudnn.so.9", error="cannot open shared object file"))),
        ("TFG911",), 1, 'pip install "tensorflow[and-cuda]==2.21.*"',
    ),
    "CUDA of another version": Machine(
        replace(BLIND, installation=packages(nvidia_cudnn_cu12="8.9.7.29")), ("TFG913",), 1, "tensorflow[and-cuda]==2.21.*"
    ),
    "a library path over the wheels": Machine(
        replace(GOOD, environment=around(variables={"LD_LIBRARY_PATH": "/usr/local/cuda-11.2/lib64"}),
                libraries=(replace(LIBRARIES[0], path="/usr/local/cuda-11.2/lib64/libcudnn.so.9"), *LIBRARIES[1:])),
        ("TFG912",), 0, "unset LD_LIBRARY_PATH",
    ),
    "conda's CUDA beside the wheels": Machine(
        replace(GOOD, installation=replace(PYTHON, conda=("cudatoolkit-11.2.2",)),
                libraries=(replace(LIBRARIES[1], path="/conda/lib/libcublas.so.12"),)),
        ("TFG912",), 0, "Remove the directory",
    ),
    "hidden by an empty variable": Machine(
        replace(BLIND, environment=around(variables={"CUDA_VISIBLE_DEVICES": ""})), ("TFG914",), 1, "unset CUDA_VISIBLE"
    ),
    "hidden by -1": Machine(
        replace(BLIND, environment=around(variables={"CUDA_VISIBLE_DEVICES": "-1"})), ("TFG914",), 1, "unset CUDA_VISIBLE"
    ),
    "a number that is too high": Machine(
        replace(BLIND, environment=around(variables={"CUDA_VISIBLE_DEVICES": "1"})), ("TFG914",), 1, "unset CUDA_VISIBLE"
    ),
    "a UUID of another card": Machine(
        replace(BLIND, environment=around(variables={"CUDA_VISIBLE_DEVICES": "GPU-bbb"})), ("TFG914",), 1, "unset"
    ),
    "chosen by UUID": Machine(
        replace(GOOD, environment=around(variables={"CUDA_VISIBLE_DEVICES": "GPU-aaa"})), (), 0, "tflint-gpu check"
    ),
    "a container without its GPUs": Machine(
        Facts(NO_LIBRARY, around(container="docker", device_files=(), variables={"NVIDIA_VISIBLE_DEVICES": "all"}),
              PYTHON, replace(TF, gpus=())),
        ("TFG915",), 1, "docker run --gpus all",
    ),
    "device files of root": Machine(
        replace(BLIND, survey=NO_DRIVER, environment=around(device_files=(("/dev/nvidia0", False),))),
        ("TFG916",), 1, "usermod",
    ),
    "device files that a cgroup forbids": Machine(
        replace(BLIND, survey=NO_DRIVER, environment=around(forbidden=("/dev/nvidia0",), container="docker")),
        ("TFG916",), 1, "docker run --gpus all",
    ),
    "a job of Slurm that may not open the card": Machine(
        replace(BLIND, survey=NO_DRIVER, environment=around(
            forbidden=("/dev/nvidia0",), variables={"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "0"})),
        ("TFG916",), 1, "Start the container or the job",
    ),
    "a job with the first card": Machine(
        replace(GOOD, environment=around(
            variables={"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "0", "CUDA_VISIBLE_DEVICES": "0"})),
        (), 0, "tflint-gpu check",
    ),
    "a job without a GPU": Machine(
        replace(BLIND, survey=NO_DRIVER, environment=around(variables={"SLURM_JOB_ID": "7", "CUDA_VISIBLE_DEVICES": ""})),
        ("TFG917",), 1, "sbatch --gpus=1",
    ),
    "Windows' Linux without a driver": Machine(
        Facts(NO_LIBRARY, Environment(wsl=True, cards=0), PYTHON, replace(TF, gpus=())), ("TFG918",), 1, "NVIDIA's driver in Windows"
    ),
    "Windows' Linux with one": Machine(
        replace(GOOD, environment=Environment(wsl=True, wsl_driver=True, cards=0)), (), 0, "tflint-gpu check"
    ),
    "no ptxas": Machine(replace(GOOD, installation=replace(PYTHON, ptxas="")), ("TFG919",), 0, "and-cuda"),
    "a CUDA directory that is gone": Machine(
        replace(GOOD, environment=around(variables={"XLA_FLAGS": "--xla_gpu_cuda_data_dir=/gone/cuda-11"})),
        ("TFG929",), 0, "unset XLA_FLAGS",
    ),
    "cuDNN that fails at work": Machine(
        replace(GOOD, operations=(*DONE[:1], Operation("/GPU:0", "convolution", "failed", message="No DNN in stream executor"))),
        ("TFG920",), 1, "The message names",
    ),
    "an operation that hangs": Machine(
        replace(GOOD, operations=(*DONE[:3], Operation("/GPU:0", "XLA", "out of time"))), ("TFG920",), 1, "The message names"
    ),
    "a program that hides the card": Machine(
        replace(BLIND, settings=(Setting("CUDA_VISIBLE_DEVICES", "-1", "train.py", 3),),), ("TFG922",), 1, "(train.py:3)"
    ),
    "no reason that is known": Machine(BLIND, ("TFG923",), 1, "TensorFlow's log"),
    "a divided card": Machine(replace(GOOD, survey=card(mig=True)), ("TFG925",), 0, "tflint-gpu check"),
    "a hot card": Machine(replace(GOOD, survey=card(slowed=("heat",))), ("TFG926",), 0, "nvidia-smi -q"),
    "Keras of another TensorFlow": Machine(
        replace(GOOD, installation=packages(keras="2.15.0")), ("TFG927",), 1, 'pip install "keras>=3.12.0"'
    ),
    "a container with the driver's tools and without its CUDA": Machine(
        replace(BLIND, environment=around(container="docker", variables={"NVIDIA_DRIVER_CAPABILITIES": "utility"}),
                libraries=(*LIBRARIES, Library("libcuda.so.1", error="cannot open shared object file"))),
        ("TFG931",), 1, "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
    ),
    "Windows' driver that the loader does not look for": Machine(
        replace(BLIND, environment=Environment(wsl=True, wsl_driver=True, cards=0),
                libraries=(*LIBRARIES, Library("libcuda.so.1", error="cannot open shared object file"))),
        ("TFG931",), 1, "export LD_LIBRARY_PATH=/usr/lib/wsl/lib",
    ),
    "no device file for CUDA's memory": Machine(
        replace(BLIND, environment=around(device_files=FILES[:2]), tensorflow=replace(TF, gpus=(), cuda_start=999)),
        ("TFG931",), 1, "sudo nvidia-modprobe -u -c 0",
    ),
    "a machine that slept": Machine(
        replace(BLIND, tensorflow=replace(TF, gpus=(), cuda_start=999)), ("TFG931",), 1, "sudo modprobe nvidia_uvm"
    ),
    "cards behind a switch that is off": Machine(
        replace(BLIND, tensorflow=replace(TF, gpus=(), cuda_start=802)), ("TFG931",), 1, "start nvidia-fabricmanager"
    ),
    "a card that is divided into nothing": Machine(
        replace(BLIND, survey=card(mig=True, mig_parts=())), ("TFG932",), 1, "nvidia-smi mig"
    ),
    "a part of a card that is not there": Machine(
        replace(BLIND, survey=card(mig=True, mig_parts=("MIG-aaa",)),
                environment=around(variables={"CUDA_VISIBLE_DEVICES": "MIG-bbb"})),
        ("TFG914", "TFG925"), 1, "unset CUDA_VISIBLE",
    ),
    "a part of a card": Machine(
        replace(GOOD, survey=card(mig=True, mig_parts=("MIG-aaa",)),
                environment=around(variables={"CUDA_VISIBLE_DEVICES": "MIG-aaa"})),
        ("TFG925",), 0, "tflint-gpu check",
    ),
    "a card that is for nobody": Machine(
        replace(BLIND, survey=card(mode="prohibited")), ("TFG933",), 1, "nvidia-smi -i 0 -c DEFAULT"
    ),
    "a card that one process has for itself": Machine(
        replace(BLIND, survey=card(mode="exclusive", holders=((4711, GIB),))), ("TFG933",), 1, "Wait until"
    ),
    "an exclusive card that is free": Machine(replace(GOOD, survey=card(mode="exclusive")), (), 0, "tflint-gpu check"),
    "Keras that computes with something else": Machine(
        replace(GOOD, environment=around(variables={"KERAS_BACKEND": "jax"})), ("TFG934",), 0, "unset KERAS_BACKEND"
    ),
    "a program that lets Keras compute with something else": Machine(
        replace(GOOD, settings=(Setting("KERAS_BACKEND", "torch", "train.py", 2),)), ("TFG934",), 0, "(train.py:2)"
    ),
    "another driver for the card": Machine(
        Facts(NO_LIBRARY, around(kernel_driver="", device_files=(), bound=("nouveau",)), PYTHON, replace(TF, gpus=())),
        ("TFG901",), 1, "Install your distribution's driver",
    ),
    "a program that names a card that is not there": Machine(
        replace(BLIND, settings=(Setting("CUDA_VISIBLE_DEVICES", "1", "train.py", 3),),), ("TFG922",), 1, "(train.py:3)"
    ),
    "a program that shows what the shell hides": Machine(
        replace(GOOD, environment=around(variables={"CUDA_VISIBLE_DEVICES": "-1"}),
                settings=(Setting("CUDA_VISIBLE_DEVICES", "0", "train.py", 3),)),
        (), 0, "tflint-gpu check",
    ),
    "a flag that XLA does not know": Machine(
        replace(GOOD, environment=around(variables={"XLA_FLAGS": "--xla_gpu_autotune_level=2 --junk=3"})),
        ("TFG935",), 1, "unset XLA_FLAGS",
    ),
    "a file with flags that is not there": Machine(
        replace(GOOD, environment=around(variables={"XLA_FLAGS": "/gone/flags"})), ("TFG935",), 1, "unset XLA_FLAGS",
    ),
    "flags that XLA knows": Machine(
        replace(GOOD, environment=around(variables={"XLA_FLAGS": "--xla_gpu_autotune_level=2"})), (), 0, "tflint-gpu check",
    ),
    "a program that names a CUDA directory that is gone": Machine(
        replace(GOOD, settings=(Setting("XLA_FLAGS", "--xla_gpu_cuda_data_dir=/gone", "train.py", 4),)),
        ("TFG929",), 0, "(train.py:4)",
    ),
    "a CUDA directory without its library for XLA": Machine(
        replace(GOOD, environment=around(variables={"XLA_FLAGS": "--xla_gpu_cuda_data_dir=/proc"})), ("TFG929",), 0, "unset XLA_FLAGS",
    ),
    "the old Keras, which is not installed": Machine(
        replace(GOOD, environment=around(variables={"TF_USE_LEGACY_KERAS": "1"}), tensorflow=replace(TF, keras="ImportError: x")),
        ("TFG927",), 1, 'install "tf-keras==2.21.*"',
    ),
    "the old Keras of another TensorFlow": Machine(
        replace(GOOD, environment=around(variables={"TF_USE_LEGACY_KERAS": "1"}), installation=packages(tf_keras="2.16.0")),
        ("TFG927",), 1, 'install "tf-keras==2.21.*"',
    ),
    "a library of a wheel that cannot be opened": Machine(
        replace(BLIND, libraries=(*LIBRARIES[1:], Library("libcudnn.so.9", "", f"{SITE}/cudnn/lib/libcudnn.so.9", "file too short"))),
        ("TFG911",), 1, "--force-reinstall",
    ),
    "a library that only TensorFlow's log names": Machine(
        replace(BLIND, libraries=LIBRARIES, tensorflow=replace(
            TF, gpus=(), log="W dso_loader.cc:64] Could not load dynamic library 'libcusolver.so.11'; dlerror: libcusolver.so.11: no")),
        ("TFG911",), 1, "and-cuda",
    ),
    "a library that was opened by a link, from a file with another name": Machine(
        replace(GOOD, libraries=(Library("libcublas.so.12"), *LIBRARIES[1:])), (), 0, "",
    ),
    "libraries of `pip install --target`": Machine(
        replace(GOOD, libraries=(Library("libcudnn.so.9", "/opt/ml/nvidia/cudnn/lib/libcudnn.so.9",
                                         "/opt/ml/nvidia/cudnn/lib/libcudnn.so.9"), *LIBRARIES[1:])), (), 0, "",
    ),
    "a processor that is too old": Machine(
        replace(GOOD, tensorflow=TensorFlow(error="the process that imports it was ended by SIGILL"), libraries=(), operations=()),
        ("TFG909",), 1, "AVX",
    ),
    "a job of Slurm on a machine without cards": Machine(
        Facts(NO_LIBRARY, Environment(cards=0, variables={"SLURM_JOB_ID": "7"}), PYTHON, replace(TF, gpus=())),
        ("TFG924",), 3, "no NVIDIA GPU",
    ),
    "a pod without a GPU": Machine(
        Facts(NO_LIBRARY, around(container="kubernetes", device_files=(), variables={"NVIDIA_VISIBLE_DEVICES": "all"}),
              PYTHON, replace(TF, gpus=())),
        ("TFG915",), 1, "nvidia.com/gpu: 1",
    ),
    "a Python that does not answer": Machine(
        Facts(NO_LIBRARY, NO_CARD, Installation("/bin/ls"), TensorFlow(error="the process that imports it did not end in time"),
              silent=(("the packages", "failed"), ("TensorFlow", "timed out"))),
        ("TFG930", "TFG930", "TFG924"), 2, "Run `nvidia-smi`, or import TensorFlow",
    ),
    "a Mac whose own GPU works": Machine(
        Facts(NO_LIBRARY, MAC, METAL, replace(CPU_TF, gpus=("/physical_device:GPU:0",)), (), DONE[:3]), (), 0, "tflint-gpu check",
    ),
    "a Mac whose own GPU fails": Machine(
        Facts(NO_LIBRARY, MAC, METAL, replace(CPU_TF, gpus=("/physical_device:GPU:0",)), (),
              (*DONE[:2], Operation("/GPU:0", "LSTM", "failed", message="InvalidArgumentError: Cannot assign a device"))),
        ("TFG920",), 1, "The message names",
    ),
    "a Mac without Apple's plugin": Machine(
        Facts(NO_LIBRARY, MAC, replace(PYTHON, packages={"tensorflow": "2.18.0"}), CPU_TF), ("TFG924",), 3, "no NVIDIA GPU"
    ),
    "a Mac with a plugin for another TensorFlow": Machine(
        Facts(NO_LIBRARY, MAC, METAL, TensorFlow(
            error="NotFoundError: dlopen(/venv/lib/tensorflow-plugins/libmetal_plugin.dylib, 0x0006): Symbol not found: _TF_X")),
        ("TFG909", "TFG924"), 1, "pip uninstall -y tensorflow-metal",
    ),
    "a Mac with a Python for Intel": Machine(
        Facts(NO_LIBRARY, replace(MAC, machine="x86_64"), replace(PYTHON, packages={"tensorflow": "2.16.2"}),
              TensorFlow(error="the process that imports it was ended by SIGILL")),
        ("TFG909", "TFG924"), 1, "arm64",
    ),
    "a Mac with the package for Macs": Machine(
        Facts(NO_LIBRARY, MAC, replace(PYTHON, packages={"tensorflow-macos": "2.12.0"}),
              TensorFlow(error="ImportError: numpy.core.multiarray failed to import")),
        ("TFG909", "TFG924"), 1, "shows the whole message",
    ),
    "an AMD card": Machine(
        Facts(NO_LIBRARY, NO_CARD, replace(PYTHON, packages={"tensorflow-rocm": "2.14.0"}),
              replace(CPU_TF, gpus=("/physical_device:GPU:0",)), (), DONE),
        (), 0, "tflint-gpu check",
    ),
    "an ARM server without TensorFlow": Machine(
        Facts(Survey("ready", (CARD,)), around(machine="aarch64"), Installation("/usr/bin/python3", "3.11"),
              TensorFlow(error="ModuleNotFoundError: No module named 'tensorflow'")),
        ("TFG908",), 1, "container",
    ),
    "an ARM server in NVIDIA's container": Machine(
        replace(GOOD, environment=around(machine="aarch64", container="docker")), (), 0, "tflint-gpu check"
    ),
    "an ARM machine without a card": Machine(
        Facts(NO_LIBRARY, replace(NO_CARD, machine="aarch64"), replace(PYTHON, packages={"tensorflow": "2.21.0"}), CPU_TF),
        ("TFG924",), 3, "no NVIDIA GPU",
    ),
    "a value of a flag that TensorFlow cannot read": Machine(
        replace(GOOD, environment=around(variables={"TF_XLA_FLAGS": "--tf_xla_min_cluster_size=few"}), libraries=(),
                operations=(), silent=(("TensorFlow", "failed"),), tensorflow=TensorFlow(
                    error=ENDED + "Flag parsing failed. usage: --tf_xla_min_cluster_size=few")),
        ("TFG935",), 1, "unset TF_XLA_FLAGS",
    ),
    "a program with a flag that TensorFlow does not know": Machine(
        replace(GOOD, settings=(Setting("TF_XLA_FLAGS", "--tf_xla_jti=2", "main.py", 7),), libraries=(), operations=(),
                tensorflow=TensorFlow(error=ENDED + "Unknown flag in TF_XLA_FLAGS: --tf_xla_jti=2")),
        ("TFG935",), 1, "(main.py:7)",
    ),
    "a check of TensorFlow's that is not about flags": Machine(
        replace(GOOD, environment=around(variables={"TF_XLA_FLAGS": "--tf_xla_auto_jit=2"}), libraries=(), operations=(),
                tensorflow=TensorFlow(error=ENDED + "Check failed: file != nullptr")),
        ("TFG909",), 1, '-c "import tensorflow"',
    ),
    "a program that is called as TensorFlow is": Machine(
        replace(GOOD, shadows=(Shadow("tensorflow", "/work/tensorflow.py", True),), operations=()),
        ("TFG936",), 1, "Give /work/tensorflow.py another name",
    ),
    "a folder on the path that has a module of Python's library": Machine(
        replace(GOOD, shadows=(Shadow("types", "/lab/types.py", False),)), ("TFG936",), 1, "Give /lab/types.py another name",
    ),
    "a Python of long ago": Machine(
        Facts(NO_LIBRARY, NO_CARD, Installation("/usr/bin/python2", "2.7"), TensorFlow(error="this Python is too old")),
        ("TFG921", "TFG924"), 1, "Use Python 3.10 to ",
    ),
    "a login node without CUDA's libraries": Machine(
        Facts(NO_LIBRARY, NO_CARD, PYTHON, replace(TF, gpus=()), (
            *LIBRARIES[1:], Library("libcudnn.so.9", error="cannot open"), Library("libcuda.so.1", error="cannot open"))),
        ("TFG924", "TFG937"), 3, "no NVIDIA GPU",
    ),
    "a login node whose libraries would load": Machine(
        Facts(NO_LIBRARY, NO_CARD, PYTHON, replace(TF, gpus=()), (*LIBRARIES, Library("libcuda.so.1", error="cannot open"))),
        ("TFG924",), 3, "no NVIDIA GPU",
    ),
    "a look that took too long": Machine(
        replace(GOOD, silent=(("the GPUs", "timed out"),)), ("TFG930",), 0, "Run `nvidia-smi`, or import TensorFlow"
    ),
}  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_each_machine_gets_its_diagnosis(machine: Machine) -> None:
    found = report_on(machine.facts)
    assert tuple(one.code for one in found.diagnoses) == machine.codes
    assert found.exit_code == machine.exit_code
    assert machine.next_step in found.next_step


def test_every_diagnosis_has_a_machine() -> None:
    """Protects the table from a code that nothing can find."""
    assert {code for machine in MACHINES.values() for code in machine.codes} == set(known())


def test_the_verdict_names_what_ran_where() -> None:
    """Protects the one honest line."""
    assert report_on(GOOD).verdict == "TensorFlow computes on /GPU:0: matmul, convolution, LSTM, XLA ran there."
    assert report_on(BLIND).verdict == "TensorFlow 2.21.0 computes on the CPU."
    elsewhere = replace(GOOD, operations=(replace(DONE[0], ran_on="/job:localhost/replica:0/task:0/device:CPU:0"),))
    assert report_on(elsewhere).verdict == "TensorFlow 2.21.0 computes on the CPU."
    assert [one.code for one in report_on(elsewhere).diagnoses] == ["TFG920"]


def test_the_last_line_tells_of_a_missing_card_whatever_else_is_to_be_done() -> None:
    """Protects who installs TensorFlow, or fixes the program, and then looks for the GPU again."""
    absent = TensorFlow(error="ModuleNotFoundError: No module named 'tensorflow'")
    without = Facts(NO_LIBRARY, NO_CARD, replace(PYTHON, packages={}), absent)
    hidden = Facts(
        NO_LIBRARY, NO_CARD, PYTHON, CPU_TF, settings=(Setting("tf.config.set_visible_devices", "[]", "train.py", 3),)
    )
    for facts in (without, hidden):
        last = as_text(report_on(facts)).splitlines()[-1]
        assert last.startswith("Next: ") and "this machine has no NVIDIA GPU" in last


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        (Environment(system="Darwin", machine="arm64"), "tensorflow-metal"),
        (Environment(container="docker"), "without its host's GPUs"),
        (Environment(cards=0, variables={"SLURM_JOB_ID": "7"}), "--gpus=1"),
    ],
)
def test_where_there_is_no_card_it_is_said_where_one_might_be(environment: Environment, words: str) -> None:
    one = report_on(Facts(NO_LIBRARY, environment, PYTHON, CPU_TF)).diagnoses[0]
    assert one.code == "TFG924" and words in one.seen


def test_that_there_is_no_gpu_is_backed_by_the_list_that_was_read() -> None:
    """Protects who has a GPU in the machine all the same: the list can be looked at."""
    found = report_on(Facts(NO_LIBRARY, Environment(cards=0, pci_devices=17), PYTHON, CPU_TF))
    assert "/sys/bus/pci/devices lists 17 devices, none of them an NVIDIA GPU" in found.diagnoses[0].seen
    blind = report_on(Facts(NO_LIBRARY, Environment(cards=None), PYTHON, CPU_TF)).diagnoses[0]
    assert "/sys/bus/pci/devices does not exist" in blind.seen


def test_a_machine_without_a_gpu_says_whether_cudas_libraries_would_load() -> None:
    """Protects who installs on a login node or builds an image, for machines that have GPUs."""
    driver = Library("libcuda.so.1", error="cannot open shared object file")
    well = Facts(NO_LIBRARY, NO_CARD, PYTHON, replace(TF, gpus=()), (*LIBRARIES, driver))
    assert "all CUDA libraries can be loaded" in as_text(report_on(well))
    broken = replace(well, libraries=(*well.libraries, Library("libcufft.so.11", error="no such file")))
    text = as_text(report_on(broken))
    assert "libcufft.so.11" in text and 'pip install "tensorflow[and-cuda]==2.21.*"' in text
    assert "libcuda.so.1," not in text, "it comes with the driver"
    cpu = as_text(report_on(replace(well, tensorflow=CPU_TF, installation=packages(tensorflow_cpu="2.21.0"))))
    assert "uninstall -y tensorflow-cpu && " in cpu


def test_the_report_shows_what_is_known_of_a_card() -> None:
    text = as_text(report_on(replace(GOOD, survey=card(holders=((4711, GIB), (4712, None)), ecc_errors=3, mig=True))))
    assert (
        "NVIDIA H100, compute capability 9.0, 80896 of 81920 MiB free, held by processes 4711 (1024 MiB), 4712, MIG, "
        "persistence on, 3 memory errors"
    ) in text


def test_a_machine_without_tensorflow_and_card_is_not_called_right_and_wrong() -> None:
    """Protects from two sentences that contradict each other: what is missing, and that nothing is."""
    missing = TensorFlow(error="ModuleNotFoundError: No module named 'tensorflow'")
    text = as_text(report_on(Facts(NO_LIBRARY, NO_CARD, PYTHON, missing)))
    assert "TFG909" in text and "TFG924" in text
    assert (
        "TensorFlow cannot be imported." in text
        and "computes on the CPU." not in text
        and "Nothing is wrong" not in text
    )


@pytest.mark.slow
def test_xla_ends_a_process_for_a_flag_that_it_does_not_know() -> None:
    """The fact behind TFG935, with the installed TensorFlow: the process ends without an exception."""
    program = "import tensorflow as tf\ntf.function(lambda x: x + 1, jit_compile=True)(tf.ones(2))\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, timeout=600, env={**os.environ, "XLA_FLAGS": "--junk"},
    )  # fmt: skip
    assert done.returncode != 0 and "Unknown flag in XLA_FLAGS: --junk" in done.stderr
    assert "Traceback" not in done.stderr
