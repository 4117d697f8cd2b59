"""Makes up data sets that everybody knows, in the formats in which they are published, with made-up rows.

`tflint-gpu verify` lays a copy next to a program in which something reads such a file or table.
"""

from __future__ import annotations

import gzip
import importlib
import io
import json
import os
import pickle
import re
import string
import struct
import sys
import tarfile
import wave
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy
from tflint_outcome import tell

LAST_ROW = 0
"""At which the code takes data apart: there are more rows than that."""

KEYS: tuple[str, ...] = ()
"""Of the JSON objects that lines hold."""

SIZES: tuple[str, ...] = ()
"""Keys of the JSON object that a file holds: what a network is made with."""

_PARTS = "ba do fi ga he ki lo mu ne ri".split()
WORDS = (
    "the old house stood near a river and every morning birds came to sing while children went along its road "
    "with bread for those who lived beyond hills nobody had ever seen before winter"
).split()
WORDS += [first + second + third for first in _PARTS for second in _PARTS for third in _PARTS]

_ROWS = 1000
_TEXTS, _WORDS, _IMAGES = 1024, 10_000, 50
_PIECES = 500
_NOTES, _TICKS, _RATE = 600, 240, 16_000  # of a piece of music; ticks are half of a beat, the rate is in hertz
_draw = numpy.random.default_rng(1)

# The folder in each archive, its files, and the names and numbers of classes of its labels, as
# https://www.cs.toronto.edu/~kriz/cifar.html describes them.
_CIFAR: dict[str, tuple[str, tuple[str, ...], dict[str, int]]] = {
    "cifar-10-python.tar.gz": (
        "cifar-10-batches-py",
        (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"),
        {"labels": 10},
    ),
    "cifar-100-python.tar.gz": ("cifar-100-python", ("train", "test"), {"coarse_labels": 20, "fine_labels": 100}),
}

# The smallest of those at https://github.com/google-research/bert, with fewer tokens.
_BERT = {
    "attention_probs_dropout_prob": 0.1,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "hidden_size": 128,
    "initializer_range": 0.02,
    "intermediate_size": 512,
    "max_position_embeddings": 512,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "type_vocab_size": 2,
    "vocab_size": 1000,
}
_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *string.printable[:94]]
_OF_ALBERT = {"embedding_size": 128, "num_hidden_groups": 1, "inner_group_num": 1}  # besides those of BERT
_OF_BERT = {
    "bert_config.json": json.dumps(_BERT),
    "albert_config.json": json.dumps({**_BERT, **_OF_ALBERT}),
    "vocab.txt": "".join(f"{token}\n" for token in [*_TOKENS, *(f"##{number}" for number in range(901))]),
}
# By what the key has: the first that fits.
_SIZES = (
    ("layer|depth|block", 2),
    ("head", 2),
    ("vocab", _PIECES),
    ("rate|prob|drop|eps|^lr$", 0.1),
    ("len|position", 512),
    ("", 64),
)
# The citations of https://github.com/kimiyoung/planetoid, with the sizes of Cora: all papers, those of which labels
# are known, those that are trained with, words, and classes.
_PLANETOID = re.compile(r"ind\.(\w+)\.(x|y|tx|ty|allx|ally|graph|test\.index)")
_PAPERS, _KNOWN, _TRAINED, _OF_CORA, _SUBJECTS = 2708, 1708, 140, 1433, 7
# Widths and heights of boxes, as https://github.com/pjreddie/darknet/blob/master/cfg/yolov3.cfg has them.
_ANCHORS = "10,13,  16,30,  33,23,  30,61,  62,45,  59,119,  116,90,  156,198,  373,326\n"


def written(place: str) -> str:
    """Write the file of a data set that its name tells; return what it is, and nothing where the name tells none."""
    name, folder = os.path.basename(place), os.path.basename(os.path.dirname(place))
    for archive, (inside, files, labels) in _CIFAR.items():
        if name == archive:
            with tarfile.open(place, "w:gz", compresslevel=1) as packed:
                for file in files:
                    _add(packed, f"{inside}/{file}", _batch(labels))
                _add(packed, f"{inside}/{'batches.meta' if len(labels) == 1 else 'meta'}", _names(labels))
            return f"{archive}, with {_ROWS} images of 32x32x3 in each of its files"
        if folder == inside and name in files:
            with open(place, "wb") as batch:
                batch.write(_batch(labels))
            return f"{_ROWS} images of 32x32x3 ({folder}/{name})"
    if name == "imdb.pkl":
        texts = [_draw.integers(1, _WORDS, int(_draw.integers(20, 300))).tolist() for _ in range(_TEXTS)]
        with open(place, "wb") as known:
            pickle.dump((texts, _draw.integers(0, 2, _TEXTS).tolist()), known)
        return f"{_TEXTS} texts as word indices, with labels (imdb.pkl)"
    part = _PLANETOID.fullmatch(name)
    if part:
        with open(place, "wb") as known:
            known.write(_citations(part[2]))
        return f"the graph {part[1]}, of {_PAPERS} nodes in {_SUBJECTS} classes"
    if "anchors" in name and os.path.splitext(name)[1] in ("", ".txt"):
        with open(place, "w") as text:
            text.write(_ANCHORS)
        return f"the nine anchors of YOLOv3 ({name})"
    if name.startswith("instances_") and name.endswith(".json"):
        with open(place, "w") as text:
            json.dump(_coco(), text)
        return f"{name} in COCO format, with {_IMAGES} images and {2 * _IMAGES} boxes"
    if name in _OF_BERT:
        with open(place, "w") as text:
            text.write(_OF_BERT[name])
        return f"{name} of a BERT with {_BERT['num_hidden_layers']} layers and {_BERT['hidden_size']} units"
    ending = os.path.splitext(name)[1]
    if SIZES and not KEYS and ending == ".json":
        with open(place, "w") as text:
            json.dump({key: next(size for part, size in _SIZES if re.search(part, key)) for key in SIZES}, text)
        return f"{name}, which sets {', '.join(SIZES)}"
    if ending in (".model", ".spm") and "sentencepiece" in sys.modules:
        _write_pieces(place)
        return f"a SentencePiece model with {_PIECES} pieces ({name})"
    if name.endswith((".tgz", ".tar.gz", ".tar")):
        tarfile.open(place, "w:" if ending == ".tar" else "w:gz").close()
        return f"{name}, with nothing in it"
    if ending in (".mid", ".midi"):
        with open(place, "wb") as music:
            music.write(_music())
        return f"{ending} files of {_NOTES} notes"
    if ending == ".wav":
        with wave.open(place, "wb") as sound:
            sound.setparams((1, 2, _RATE, _RATE, "NONE", ""))
            sound.writeframes(_draw.integers(-(2**12), 2**12, _RATE).astype("<i2").tobytes())
        return f"{ending} files of a second at {_RATE} Hz"
    if KEYS and os.path.splitext(name)[1] in (".json", ".jsonl"):
        with open(place, "w") as text:
            text.writelines(json.dumps({key: _under(key, row) for key in KEYS}) + "\n" for row in range(_TEXTS))
        return f"{_TEXTS} lines of objects with {', '.join(KEYS)} ({name})"
    return _idx(place) if name.endswith(".gz") and "-idx" in name else ""


def _write_pieces(place: str) -> None:
    import sentencepiece  # type: ignore[import-not-found,import-untyped,unused-ignore]

    letters = numpy.array(list(string.ascii_lowercase))
    texts = (" ".join("".join(letters[_draw.integers(0, 26, 6)]) for _ in range(10)) for _ in range(_PIECES))
    with open(place, "wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=texts, model_writer=file, vocab_size=_PIECES, minloglevel=2
        )


def _music() -> bytes:
    """A track of single notes, as https://www.midi.org's Standard MIDI Files 1.0 describes it."""
    delay = bytes([0x80 | _TICKS >> 7, _TICKS & 127])
    notes = (bytes([0, 0x90, pitch, 80]) + delay + bytes([0x80, pitch, 0]) for pitch in _draw.integers(40, 90, _NOTES))
    track = b"\x00\xc0\x00" + b"".join(notes) + b"\x00\xff\x2f\x00"
    return struct.pack(">4sIHHH", b"MThd", 6, 0, 1, 2 * _TICKS) + struct.pack(">4sI", b"MTrk", len(track)) + track


def _citations(part: str) -> bytes:
    """One of the files of a graph: rows of words or of classes, neighbours of each node, or numbers of nodes."""
    sparse: Any = importlib.import_module("scipy.sparse")
    if part == "test.index":
        return "".join(f"{node}\n" for node in range(_KNOWN, _PAPERS)).encode()
    rows = {"t": _PAPERS - _KNOWN, "a": _KNOWN}.get(part[0], _TRAINED)
    if part == "graph":
        value: Any = {node: _draw.integers(0, _PAPERS, 2).tolist() for node in range(_PAPERS)}
    elif part.endswith("x"):
        value = sparse.csr_matrix((_draw.random((rows, _OF_CORA)) < 0.01).astype("float32"))
    else:
        value = numpy.eye(_SUBJECTS, dtype="int32")[_draw.integers(0, _SUBJECTS, rows)]
    return pickle.dumps(value, 2)


def _under(key: str, row: int) -> str:
    is_number = key.lower().endswith(("label", "class", "id", "score", "target"))
    return str(row % 2) if is_number else f"a synthetic text with the number {row}"


def checkpoints(folder: str) -> str:
    """Write two folders, each with a checkpoint of nothing that a program has; return what they are."""
    import tensorflow as tf

    for member in ("first", "second"):
        with tf.init_scope():
            tf.train.Checkpoint(made_up=tf.Variable(0.0)).save(os.path.join(folder, member, "checkpoint"))
    return f"two checkpoints ({os.path.basename(folder)})"


def _coco() -> Mapping[str, Any]:
    """Annotations as https://cocodataset.org/#format-data describes them."""
    images = [{"id": n, "file_name": f"{n:012d}.jpg", "height": 480, "width": 640} for n in range(1, _IMAGES + 1)]
    boxes = _draw.integers(10, 200, (2 * _IMAGES, 4)).tolist()
    annotations = [
        {
            "id": number + 1,
            "image_id": number // 2 + 1,
            "category_id": number % 80 + 1,
            "bbox": box,
            "area": box[2] * box[3],
            "iscrowd": 0,
            "segmentation": [[box[0], box[1], box[0] + box[2], box[1], box[0] + box[2], box[1] + box[3]]],
        }
        for number, box in enumerate(boxes)
    ]
    categories = [{"id": number, "name": f"class {number}", "supercategory": "thing"} for number in range(1, 81)]
    return {"info": {}, "licenses": [], "images": images, "annotations": annotations, "categories": categories}


def _idx(place: str) -> str:
    """A file of MNIST's format, packed: a header, and the bytes of images or of labels."""
    name = os.path.basename(place)
    rows, is_image = min(60_000 if "train" in name else 10_000, (LAST_ROW // 100 + 20) * 100), "idx3" in name
    sides = (28, 28) if is_image else ()
    repeated = _draw.integers(0, 256 if is_image else 10, (100, *sides)).astype("uint8").tobytes() * (rows // 100)
    header = numpy.array([2051 if is_image else 2049, rows, *sides], ">i4").tobytes()
    with gzip.open(place, "wb", compresslevel=1) as file:
        file.write(header + repeated)
    return f"{rows} {'images of 28x28' if is_image else 'labels'} ({name})"


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _batch(labels: Mapping[str, int]) -> bytes:
    numbers = {key: _draw.integers(0, classes, _ROWS).tolist() for key, classes in labels.items()}
    return _pickled({"data": _draw.integers(0, 256, (_ROWS, 3072)).astype("uint8"), **numbers})


def _names(labels: Mapping[str, int]) -> bytes:
    return _pickled(
        {key.replace("labels", "label_names"): [str(n) for n in range(count)] for key, count in labels.items()}
    )


def _pickled(parts: Mapping[str, Any]) -> bytes:
    """A dictionary as Python 2 wrote it: its texts are read as texts, or as bytes with `encoding="bytes"`."""
    content = b"\x80\x02}("
    for name, value in parts.items():
        texts = isinstance(value, list) and all(isinstance(text, str) for text in value)
        content += _text(name)
        content += b"](" + b"".join(map(_text, value)) + b"e" if texts else pickle.dumps(value, 2)[2:-1]
    return content + b"u."


def _text(text: str) -> bytes:
    return b"U" + bytes([len(text)]) + text.encode()


class _Table(dict):  # type: ignore[type-arg]
    """What scikit-learn's functions give: parts by their names, or as attributes."""

    __getattr__ = dict.__getitem__


# Rows and columns, and the number of classes, 0 for numbers, of tables that scikit-learn fetches.
_TABLES = {
    "california_housing": ((20640, 8), 0),
    "olivetti_faces": ((400, 4096), 40),
    "covtype": ((20000, 54), 7),
    "mnist_784": ((70000, 784), 10),
    "fashion-mnist": ((70000, 784), 10),
}


def known_table(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for `sklearn.datasets.fetch_...`, where the shape of the table is known."""

    def fetch(*args: Any, **kwargs: Any) -> Any:
        given = str(kwargs.get("name", args[0] if args else function.__name__.replace("fetch_", "", 1).lower()))
        if given.lower() not in _TABLES:
            return function(*args, **kwargs)
        (rows, columns), classes = _TABLES[given.lower()]
        tell(f"the table {given}, of {rows}x{columns}")
        data: Any = _draw.random((rows, columns))
        target: Any = _draw.integers(0, classes, rows) if classes else _draw.random(rows) * 5
        names = [f"column_{number}" for number in range(columns)]
        if columns == 784:
            data, target = numpy.floor(data * 256), target.astype(str).astype(object)
        if kwargs.get("as_frame") is True:
            import pandas

            data, target = pandas.DataFrame(data, columns=names), pandas.Series(target, name="target")
        if kwargs.get("return_X_y"):
            return data, target
        return _Table(data=data, target=target, images=data, feature_names=names, target_names=["target"], DESCR="")

    return fetch


class Answer:
    """What a server sends, as `requests` and `urllib` hand it on."""

    status_code, status, ok, encoding = 200, 200, True, "utf-8"

    def __init__(self, place: str) -> None:
        with open(place, "rb") as file:
            self.content = file.read()
        self.text = self.content.decode("utf-8", "replace")

    def read(self) -> bytes:
        return self.content

    def json(self) -> Any:
        return json.loads(self.content)

    def iter_content(self, chunk_size: int = 1) -> Any:
        return iter([self.content])

    def raise_for_status(self) -> None:
        pass

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: object) -> None:
        pass


class _Size(int):
    """Equals every other number."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = int.__hash__


def of_any_size(known: Any) -> Any:
    """What `os.stat` or `os.path.getsize` told of a file, as if it had the size that the code asks for."""
    if isinstance(known, int):
        return _Size(known)
    parts = {name: getattr(known, name) for name in dir(known) if name.startswith("st_")}
    return SimpleNamespace(**{**parts, "st_size": _Size(known.st_size)})
