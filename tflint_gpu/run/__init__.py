"""Runs a program, or records this process, and reports where the GPU waits; it needs POSIX."""

from tflint_gpu.run.inspection import Inspection, checkable, inspect
from tflint_gpu.run.outside import CannotWatch, Outside, Running
from tflint_gpu.run.program import Program, end_as, run
from tflint_gpu.run.recording import NOTHING, Recording
from tflint_gpu.run.reports import renderer
from tflint_gpu.run.result import NoGpu, Report
from tflint_gpu.run.samples import Decoder, Place
from tflint_gpu.run.sampling import ThisProcess
from tflint_gpu.run.trace import Trace, read_trace

__all__ = [
    "NOTHING",
    "CannotWatch",
    "Decoder",
    "Inspection",
    "NoGpu",
    "Outside",
    "Place",
    "Program",
    "Recording",
    "Report",
    "Running",
    "ThisProcess",
    "Trace",
    "checkable",
    "end_as",
    "inspect",
    "read_trace",
    "renderer",
    "run",
]
