"""What a profile says is read right; those of GPUs and of chosen moments are made here, by TensorFlow's own protocol."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tflint_gpu.run.charges import Doing, Spent
from tflint_gpu.run.datasets import Dataset, Step
from tflint_gpu.run.inside.tflint_devices import precision, uses_tensor_cores
from tflint_gpu.run.inside.tflint_events import protocol, read
from tflint_gpu.run.inside.tflint_xplane import account, write_chrome
from tflint_gpu.run.samples import Place
from tflint_gpu.run.trace import Pipeline, Stage, Trace

Moment = tuple[str, float, float, Mapping[str, Any]]
"""An event: its name, begin and end in milliseconds, and what else is known of it."""
MILLI = 10**9


def profile(planes: Mapping[str, Mapping[str, Sequence[Moment]]]) -> bytes:
    """A profile as TensorFlow writes it."""
    space = protocol().XSpace()
    for name, lines in planes.items():
        plane = space.planes.add(name=name)
        kinds: dict[str, int] = {}
        stats: dict[str, int] = {}
        for number, (title, moments) in enumerate(lines.items()):
            line = plane.lines.add(id=number, name=title, timestamp_ns=10**18)
            for what, begin, end, known in moments:
                kind = kinds.setdefault(what, len(kinds) + 1)
                plane.event_metadata[kind].id, plane.event_metadata[kind].name = kind, what
                event = line.events.add(metadata_id=kind)
                event.offset_ps, event.duration_ps = round(begin * MILLI), round((end - begin) * MILLI)
                for key, value in known.items():
                    stat = stats.setdefault(key, len(stats) + 1)
                    plane.stat_metadata[stat].id, plane.stat_metadata[stat].name = stat, key
                    made = event.stats.add(metadata_id=stat)
                    if isinstance(value, int):
                        made.int64_value = value
                    else:
                        made.str_value = value
    written: bytes = space.SerializeToString()
    return written


def told(planes: Mapping[str, Mapping[str, Sequence[Moment]]]) -> dict[str, Any]:
    """What the account of such a profile says."""
    return account(read(profile(planes), protocol()))


IDS = {"Root": 1, "Root::Prefetch": 2, "Root::Prefetch::ParallelMapV2": 3, "Root::Prefetch::ParallelMapV2::Range": 4}
NAMES = {"Root": "Root", "Prefetch": "PrefetchDataset:2", "ParallelMapV2": "MapDataset:1", "Range": "RangeDataset:0"}


def call(path: str, begin: float, end: float, **known: Any) -> Moment:
    """A call for the next element of a stage."""
    number = IDS.setdefault(path, len(IDS) + 1)
    parent = IDS.get(path.rpartition("::")[0].partition("[")[0], 0)
    name = NAMES.get(path.rpartition("::")[2], path)
    return f"Iterator::{path}", begin, end, {"id": number, "parent_id": parent, "name": name, "shapes": "", **known}


def around(what: str, begin: float, end: float) -> Moment:
    return what, begin, end, {}


def consumer(*waits: tuple[float, float]) -> list[Moment]:
    """The thread that waits; a last call tells where the span of the others ends."""
    return [
        moment
        for begin, end in waits
        for moment in (
            around("IteratorGetNextOp::DoCompute", begin, end),
            call("Root", begin, end),
            call("Root::Prefetch", begin, end),
        )
    ]


def waited(lines: Mapping[str, Sequence[Moment]]) -> dict[str, float]:
    """Milliseconds that each stage was waited for."""
    (pipeline,) = told({"/host:CPU": lines})["pipelines"]
    return {stage["path"][-1]: round(1000 * stage["waited"], 3) for stage in pipeline["stages"] if stage["waited"]}


MAP = "Root::Prefetch::ParallelMapV2"
RANGE = "Root::Prefetch::ParallelMapV2::Range"


def test_a_wait_is_followed_to_the_stage_whose_threads_ask_for_nothing() -> None:
    """The map's function runs at 5 to 9 ms, while its thread has no room for another element."""
    lines = {
        "training": consumer((1, 10), (20, 21)),
        "prefetch": [around("PrefetchProduce", 0, 10), call(MAP, 0.5, 10)],
        "map": [around("ParallelMapProduce", 0.5, 5), call(RANGE, 0.6, 4)],
    }
    assert waited(lines) == {"Range": 3.0, "ParallelMapV2": 6.0}


def test_what_began_before_the_profile_is_charged_to_nobody() -> None:
    """Until 5 ms the thread of `Prefetch` may have waited for anything."""
    lines = {
        "training": consumer((1, 10), (20, 21)),
        "prefetch": [call(RANGE, 1, 2), around("PrefetchProduce", 5, 10), call(MAP, 5, 10)],
    }
    assert waited(lines) == {"ParallelMapV2": 9.0}


def test_functions_that_wait_for_a_thread_wait_for_those_that_have_them() -> None:
    """The filter's function runs for 1 of 9 ms; meanwhile that of the map has the threads."""
    filtered = "Root::Prefetch::Filter"
    lines = {
        "training": consumer((1, 10), (20, 21)),
        "prefetch": [
            around("PrefetchProduce", 1, 10),
            call(filtered, 1, 10),
            ("InstantiatedCapturedFunction::Run", 1, 10, {"id": 70}),
        ],
        "map": [
            around("ParallelMapProduce", 0, 0.5),
            call("Root::Prefetch::Filter::ParallelMapV2::Range", 0, 0.4),
            ("InstantiatedCapturedFunction::RunAsync", 0.41, 0.5, {"id": 80}),
        ],
        "pool": [("ExecutorState::Process", 0.5, 9, {"id": 80}), ("ExecutorState::Process", 9, 10, {"id": 70})],
    }
    assert waited(lines) == {"ParallelMapV2": 8.0, "Filter": 1.0}


def test_what_is_computed_while_a_slower_stage_works_is_waited_for_by_that() -> None:
    """The filter takes 4 ms of each 10, in which the map works on: it alone says how long an element takes."""
    filtered, mapped = "Root::Prefetch::Filter", "Root::Prefetch::Filter::ParallelMapV2"
    lines = {
        "training": consumer((10, 20), (20.5, 30), (30.5, 31)),
        "prefetch": [
            moment
            for begin in (0, 10, 20)
            for moment in (
                around("PrefetchProduce", begin, begin + 10),
                call(filtered, begin, begin + 10),
                call(mapped, begin, begin + 6),
            )
        ],
        "map": [around("ParallelMapProduce", 0, 0.1), call(f"{mapped}::Range", 0, 0.1)],
    }
    charged = waited(lines)
    assert charged["ParallelMapV2"] == pytest.approx(15.5) and charged["Filter"] == pytest.approx(4.0)


def test_inputs_of_zip_are_two_stages_and_elements_of_interleave_are_one() -> None:
    root = "Root::Zip"
    lines = {
        "training": [
            around("DoCompute", 0, 10),
            call("Root", 0, 10),
            call(root, 0, 10),
            call("Root::Zip[0]::Map", 1, 4),
            call("Root::Zip[1]::Interleave", 5, 9),
            call("Root::Zip[1]::Interleave[0]::Map", 5, 6),
            call("Root::Zip[1]::Interleave[1]::Map", 6, 8),
        ]
    }
    (pipeline,) = told({"/host:CPU": lines})["pipelines"]
    stages = {
        "::".join(stage["path"]): (round(1000 * stage["waited"]), stage["elements"]) for stage in pipeline["stages"]
    }
    assert stages == {
        "Root": (0, 1),
        "Root::Zip": (3, 1),
        "Root::Zip[0]::Map": (3, 1),
        "Root::Zip[1]::Interleave": (1, 1),
        "Root::Zip[1]::Interleave::Map": (3, 2),
    }


GEMM = "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x64_stage3_warpsize2x2x1_tensor16x8x8_execute_kernel_cublas"
ADD = "void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::half>>"


def on_gpu(name: str, begin: float, end: float, operation: str = "") -> Moment:
    return name, begin, end, {"kernel_details": "regs:32", "tf_op": operation}


def test_a_gpu_is_told_by_kernel_precision_tensor_cores_and_gaps() -> None:
    streams = {
        "Stream #1(Compute)": [on_gpu(GEMM, 0, 4, "dense/MatMul:MatMul"), on_gpu(ADD, 10, 11), on_gpu(GEMM, 18, 20)],
        "Stream #2(Compute)": [on_gpu(ADD, 3, 5), ("MemcpyH2D", 5, 7, {"memcpy_details": "kind:H2D size:8"})],
    }
    host = {"training": consumer((5, 9), (11, 30))}
    (gpu,) = told({"/host:CPU": host, "/device:GPU:0": streams})["gpus"]
    assert gpu["name"] == "/device:GPU:0"
    assert (gpu["span"], gpu["busy"], gpu["kernel_seconds"]) == pytest.approx((0.020, 0.008, 0.009))
    assert gpu["tensor_cores"] == pytest.approx(0.006)
    assert gpu["precisions"] == pytest.approx({"tfloat32": 0.006, "float16": 0.003})
    gaps = gpu["gaps"]
    assert gaps["count"] == 2
    assert (gaps["seconds"], gaps["longest"]) == pytest.approx((0.012, 0.007))
    assert gaps["waiting_for_input"] == pytest.approx(0.004 + 0.007)
    assert gpu["copies"] == pytest.approx({"MemcpyH2D": 0.002})
    first = gpu["kernels"][0]
    assert (first["name"], first["operation"], first["count"]) == (GEMM, "dense/MatMul:MatMul", 1)


@pytest.mark.parametrize(
    ("kernel", "type_of", "in_tensor_cores"),
    [
        (GEMM, "tfloat32", True),
        ("ampere_sgemm_128x64_tn", "float32", False),
        ("volta_h884gemm_64x64_ldg8_nn", "float16", True),
        ("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn", "float16", True),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x128x64_warpgroupsize1x1x1", "bfloat16", True),
        ("cutlass_80_tensorop_s1688gemm_128x128_nn_align4", "", True),
        (
            "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_warpsize1x2x1_ffma_execute_kernel__5x_cublas",
            "float32",
            False,
        ),
        ("AddV2_GPU_DT_DOUBLE_DT_DOUBLE_kernel", "float64", False),
        ("void tensorflow::functor::ShuffleInTensor3Simple<float, 2, 1, 0, false>", "float32", False),
        ("input_fusion_reduce_3", "", False),
    ],
)
def test_the_name_of_a_kernel_tells_its_precision(kernel: str, type_of: str, in_tensor_cores: bool) -> None:
    assert (precision(kernel), uses_tensor_cores(kernel)) == (type_of, in_tensor_cores)


def allocation(at: float, address: int, size: int, used: int, operation: str, what: str = "Allocation") -> Moment:
    known = {"allocator_name": "GPU_0_bfc", "addr": address, "allocation_bytes": size, "bytes_allocated": used}
    return f"Memory{what}", at, at, {**known, "tf_op": operation}


def test_memory_is_told_over_time_with_what_held_it_at_its_peak() -> None:
    lines = {
        "one": [allocation(0, 1, 100, 1100, "dense/MatMul"), allocation(10, 1, 100, 1500, "", "Deallocation")],
        "two": [allocation(5, 2, 500, 1600, "dense/Relu"), allocation(20, 3, 50, 1550, "Mean")],
    }
    (memory,) = told({"/host:CPU": lines})["memory"]
    assert (memory["allocator"], memory["peak"]) == ("GPU_0_bfc", 1600)
    assert memory["held_at_peak"] == [
        {"operation": "dense/Relu", "bytes": 500},
        {"operation": "dense/MatMul", "bytes": 100},
    ]
    assert [used for _, used in memory["timeline"]] == [1100, 1600, 1500, 1550]
    assert memory["timeline"][-1][0] * memory["seconds_each"] == pytest.approx(0.020)


def test_operations_are_told_by_kind_and_stage_without_those_in_others() -> None:
    lines = {
        "map": [around("MapProduce", 0, 1), call(RANGE, 0, 0.5), ("InstantiatedCapturedFunction::RunAsync", 0.6, 1, {"id": 7})],
        "pool": [
            ("ExecutorState::Process", 1, 5, {"id": 7}),
            ("EagerPyFunc:EagerPyFunc", 1, 4, {}),
            ("Mul:Mul", 2, 3, {}),
            ("sequential/dense/MatMul:_MklMatMul", 6, 8, {}),
        ],
    }  # fmt: skip
    operations = told({"/host:CPU": lines})["operations"]
    assert [(each["operation"], each["stage"], round(1000 * each["seconds"])) for each in operations] == [
        ("EagerPyFunc", "ParallelMapV2", 3),
        ("MatMul", "", 2),
    ]


def test_an_empty_profile_says_nothing(tmp_path: Path) -> None:
    assert told({}) == {"pipelines": [], "operations": [], "gpus": [], "memory": []}
    write_chrome(read(profile({}), protocol()), str(tmp_path / "events.json.gz"))
    with gzip.open(tmp_path / "events.json.gz", "rt") as file:
        assert json.load(file)["traceEvents"] == []


def stage(path: str, datasets: str, waited: float = 0.0) -> Stage:
    return Stage(tuple(f"Root::{path}".split("::")), datasets, waited, 0.0, 1, {})


def steps(*names: str) -> tuple[Step, ...]:
    return tuple(Step("/project/data.py", row, row + 1, name) for row, name in enumerate(names, 1))


def dataset(*names: str) -> Dataset:
    return Dataset("/project/train.py", 8, 8, False, steps(*names))


def joined(stages: Sequence[Stage], *datasets: Dataset) -> dict[str, tuple[list[int], bool]]:
    pipeline = Pipeline(1.0, tuple(stages)).joined(datasets)
    return {each.chain: ([step.first for step in each.steps], each.is_inner) for each in pipeline.stages}


def test_stages_are_the_operations_in_their_order() -> None:
    """Also fused ones; what TensorFlow puts between them is none, and sources have other names."""
    stages = [
        stage("Prefetch", "inject/prefetch_BatchDatasetV2/_9"),
        stage("Prefetch::MapAndBatch", "fused(MapDataset:2,BatchDatasetV2:3)"),
        stage("Prefetch::MapAndBatch::ParallelMapV2", "ParallelMapDatasetV2:1"),
        stage("Prefetch::MapAndBatch::ParallelMapV2::TensorSlice", "TensorSliceDataset:0"),
    ]
    lines = joined(stages, dataset("from_tensor_slices", "batch"), dataset("from_tensor_slices", "map", "map", "batch"))
    assert lines == {
        "Prefetch": ([], True),
        "Prefetch::MapAndBatch": ([3, 4], False),
        "Prefetch::MapAndBatch::ParallelMapV2": ([2], False),
        "Prefetch::MapAndBatch::ParallelMapV2::TensorSlice": ([1], False),
    }


def test_what_a_function_makes_is_on_the_line_of_its_operation() -> None:
    stages = [
        stage("BatchV2", "BatchDatasetV2:7"),
        stage("BatchV2::Interleave", "InterleaveDataset:6"),
        stage("BatchV2::Interleave::Map", "MapDataset:57"),
        stage("BatchV2::Interleave::Map::Range", "RangeDataset:58"),
        stage("BatchV2::Interleave::Range", "RangeDataset:5"),
    ]
    lines = joined(stages, dataset("range", "interleave", "batch"))
    assert lines["BatchV2::Interleave::Map"] == lines["BatchV2::Interleave::Map::Range"] == ([2], True)
    assert lines["BatchV2::Interleave::Range"] == ([1], False)


def test_a_pipeline_that_no_dataset_is_like_has_no_lines() -> None:
    stages = [stage("Prefetch", "PrefetchDataset:1"), stage("Prefetch::TFRecord", "TFRecordDatasetV2:0")]
    assert joined(stages, dataset("from_generator", "map", "batch", "shuffle")) == joined(stages)


def test_a_dataset_is_that_of_the_pipeline_that_is_most_like_it() -> None:
    training = [
        stage("Batch", "BatchDatasetV2:3"),
        stage("Batch::Map", "MapDataset:2"),
        stage("Batch::Map::Range", "RangeDataset:1"),
    ]
    other = [
        stage("Cache", "CacheDatasetV2:6"),
        stage("Cache::Batch", "BatchDatasetV2:5"),
        stage("Cache::Batch::Range", "RangeDataset:4"),
    ]
    trace = Trace(20, 20, 30, 1.0, "p", "", (Pipeline(1.0, tuple(other)), Pipeline(0.5, tuple(training))))
    known = trace.joined([dataset("range", "map", "batch")])
    assert [pipeline.dataset is None for pipeline in known.pipelines] == [True, False]


def test_what_waits_for_the_next_batch_is_shared_out_to_the_lines_of_the_stages() -> None:
    stages = (stage("Batch", "BatchDatasetV2:1", 0.2), stage("Batch::Map", "MapDataset:0", 0.6), stage("", "", 0.2))
    trace = Trace(20, 20, 30, 2.0, "p", "", (Pipeline(1.0, stages).joined([dataset("map", "batch")]),))
    fit = (Place("/project/train.py", 8, "main", 7, 9),)
    seen = Place("/project/data.py", 2, "load", 1, 3)
    waiting, other = Doing(fit, "fit", "data"), Doing((seen,), "", "")
    charged = trace.charged({waiting: Spent(10.0, 5.0), other: Spent(1.0, 1.0)})
    by_place = {doing.stack[0]: (doing.waits, round(spent.idle, 3)) for doing, spent in charged.items()}
    assert by_place == {
        Place("/project/data.py", 1, "<module>", 1, 2): ("stage", 3.0),
        seen: ("", 1.0),
        fit[0]: ("data", 1.0),
    }
    assert charged[Doing((seen, *fit), "fit", "stage")] == Spent(2.0, 1.0)
    assert trace.share(Doing(fit, "fit", "execute")) == 0.5
