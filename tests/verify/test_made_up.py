"""What the modules beside programs make up: files, archives, command lines, environments. TensorFlow is stood for, too."""

from __future__ import annotations

import builtins
import contextlib
import gzip
import importlib
import json
import pickle
import sys
import tarfile
import types
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tflint_gpu.verify.execution.worker import run_program
from tflint_gpu.verify.slicing.extract import Program
from tflint_gpu.verify.slicing.extract import harness_modules as modules_beside
from tflint_gpu.verify.stubs.readers import MODULES

pytestmark = pytest.mark.slow

VERIFY = Path(__file__).parents[2] / "tflint_gpu" / "verify"


class Beside:
    """The modules as a program sees them."""

    def __init__(self, told: list[str]) -> None:
        names = ("tflint_files", "tflint_environment", "tflint_modules", "tflint_values", "tflint_tables")
        self.files, self.environment, self.modules, self.values, self.tables = map(importlib.import_module, names)
        self.networks = importlib.import_module("tflint_networks")
        self.told = told


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Beside]:
    """The modules that make something up, imported in an empty folder."""
    told: list[str] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(VERIFY / "harness")
    monkeypatch.syspath_prepend(VERIFY / "stand_ins")
    outcome = types.SimpleNamespace(
        SEED=1, note_early=lambda **notes: None, tell=lambda text: None if text in told else told.append(text)
    )
    unconverted = types.SimpleNamespace(do_not_convert=lambda function: function)
    png = types.SimpleNamespace(numpy=lambda: b"an image")
    tensorflow = types.SimpleNamespace(
        autograph=types.SimpleNamespace(experimental=unconverted),
        image=types.SimpleNamespace(encode_png=lambda image: png, encode_jpeg=lambda image: png),  # as in 2.0
        constant=lambda value: value,
        init_scope=contextlib.nullcontext,
        executing_eagerly=lambda: True,
    )
    monkeypatch.setattr(builtins, "__import__", builtins.__import__)
    monkeypatch.setitem(sys.modules, "tflint_outcome", outcome)
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield Beside(told)
    for name in MODULES:
        sys.modules.pop(name, None)


def fail(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("nothing was to be read")


def test_a_file_that_is_there_is_read(beside: Beside, tmp_path: Path) -> None:
    """Protects the user's own data: it comes first, from the working directory or the project's folders."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.txt").write_text("mine")
    beside.files.FOLDERS = (str(tmp_path / "project"),)
    assert beside.files.reading(open)("a.txt").read() == "mine" and beside.told == []


def test_an_archive_that_is_not_there(beside: Beside, tmp_path: Path) -> None:
    """Protects h5py: arrays of the model's input, labels where the name says so; what is written is a real file."""
    beside.files.INPUT, beside.files.CLASSES = (8, 8, 1), 3
    with beside.tables.archive(fail)("data/train.h5", "r") as file:
        assert file["images"].shape[1:] == (8, 8, 1) and set(np.unique(file["labels"])) <= {0, 1, 2}
        assert file["images"] is file["images"], "what is read twice is the same"
    assert "images of 8x8x1" in beside.told
    opened = beside.tables.archive(lambda path, mode: (path, mode))
    assert opened("out/b.h5", "w") == (str(tmp_path / "out" / "b.h5"), "w") and (tmp_path / "out").is_dir()
    (tmp_path / "c.h5").touch()
    assert opened("c.h5") == ("c.h5", "r")
    beside.files.INPUT = ()
    with pytest.raises(FileNotFoundError, match="the code does not show what it contains"):
        beside.tables.archive(fail)("data/train.h5")["images"]


def test_folders_are_made_for_what_is_written(beside: Beside, tmp_path: Path) -> None:
    """Protects programs that keep their pictures in a folder that the user made by hand, and that folder."""
    seen: list[Any] = []
    write = beside.files.writing(lambda *args: seen.append(args))
    write("results/epoch_1.png", 7)
    beside.files.writing_to(seen.append)("drawn/by/hand.png")
    assert (tmp_path / "drawn" / "by").is_dir() and seen.pop() == "drawn/by/hand.png"
    write(f"{tmp_path.parent}/elsewhere/a.png")
    write(7)
    assert seen[0] == (str(tmp_path / "results" / "epoch_1.png"), 7) and (tmp_path / "results").is_dir()
    assert Path(seen[1][0]).is_relative_to(tmp_path) and seen[2] == (7,)
    model = object()
    beside.files.writing_to(lambda *args: seen.append(args))(model, f"{tmp_path.parent}/kept/model")
    beside.files.writing_to(seen.append)("../above/model.h5")
    assert seen[3][0] is model and Path(seen[3][1]).is_relative_to(tmp_path)
    assert Path(seen[4]).is_relative_to(tmp_path)


def test_bytes_of_a_file_that_is_not_there(beside: Beside) -> None:
    """Protects `tf.io.read_file` of one image; in a graph, where no value is known, it stays what it was."""
    read = beside.files.read_bytes(lambda name: Path(name).read_bytes() if isinstance(name, str) else name)
    assert read("photos/a.png") == b"an image" and beside.told == [".png images of 256x512x3"]
    symbolic = object()
    assert read(symbolic) is symbolic


def test_lines_have_the_fields_that_are_taken_apart(beside: Beside) -> None:
    beside.files.SEPARATOR, beside.files.FIELDS = " ", 2
    lines = beside.files.reading(open)("pairs.txt").read().splitlines()
    assert {len(line.split(" ")) for line in lines} == {2}


def test_what_is_tested_with_has_the_words_of_what_is_trained_with(beside: Beside) -> None:
    learned, seen = ({*beside.files.reading(open)(name).read().split(" ")} for name in ("known.txt", "new.txt"))
    assert seen <= learned and len(learned) > 100


def test_annotations_of_coco(beside: Beside) -> None:
    """Protects detectors that are tried on COCO: images, categories, and boxes that lie in the images."""
    with beside.files.reading(open)("coco/annotations/instances_val2017.json") as file:
        known = json.load(file)
    images = {image["id"]: image for image in known["images"]}
    kinds = {kind["id"] for kind in known["categories"]}
    for each in known["annotations"]:
        left, top, width, height = each["bbox"]
        image = images[each["image_id"]]
        assert left + width <= image["width"] and top + height <= image["height"] and each["category_id"] in kinds


def test_lines_name_images_and_the_boxes_in_them(beside: Beside) -> None:
    """Protects detectors: the images are there, the boxes lie in them, and the classes are few."""
    beside.files.HAS_BOXES, beside.files.IMAGE, beside.files.CLASSES = True, (64, 48, 3), 3
    lines = beside.files.reading(open)("train.txt").read().splitlines()
    assert len(lines) == 600
    for name, *boxes in map(str.split, lines[:12]):
        assert Path(name).is_file() and boxes
        for left, top, right, bottom, kind in (map(int, box.split(",")) for box in boxes):
            assert 0 <= left < right <= 48 and 0 <= top < bottom <= 48 and kind < 3
    assert len(beside.files.reading(open)("coco.names").read().splitlines()) == 20
    anchors = beside.files.reading(open)("made_up_anchors_path").readline()
    assert len([float(side) for side in anchors.split(",")]) == 18


class Pair:
    """An environment of gym 0.26."""

    def reset(self) -> tuple[list[int], dict[str, Any]]:
        return [1, 2], {}

    def step(self, action: int) -> tuple[list[int], float, bool, bool, dict[str, Any]]:
        return [3, 4], 1.0, False, True, {}


def test_an_environment_of_today_for_old_code(beside: Beside) -> None:
    """Protects code for gym before 0.26: `reset` gives the observation, `step` four values."""
    old = beside.environment.old_environment(lambda name: Pair())("A")
    assert old.reset() == [1, 2] and old.step(0) == ([3, 4], 1.0, True, {})
    assert beside.environment.environment(lambda name: Pair())("A").reset() == ([1, 2], {})


class Registered(Pair):
    """An environment that lies within others and whose old version is gone."""

    @property
    def unwrapped(self) -> Pair:
        return Pair()

    def reset(self, **options: Any) -> tuple[list[int], dict[str, Any]]:
        return [options.get("seed") or 1, 2], {}


def test_a_later_version_stands_for_an_environment_that_is_gone(beside: Beside, monkeypatch: Any) -> None:
    """Protects agents for `Pendulum-v0`, whose environment is there: only another version of it."""
    registry = {"Swing-v1": 0, "Swing-v2": 0, "SwingHard-v3": 0}
    monkeypatch.setitem(sys.modules, "halls", types.SimpleNamespace(envs=types.SimpleNamespace(registry=registry)))

    def make(name: str) -> Any:
        if name not in ("Swing-v1", "Swing-v2"):
            raise ValueError(name)
        return Registered()

    make.__module__ = "halls.making"
    assert isinstance(beside.environment.environment(make)("Swing-v0"), Registered)
    assert "the environment Swing-v2 in place of Swing-v0" in beside.told
    assert beside.environment.environment(make)("Other-v0").reset()[0].shape == (4,)


def test_games_that_are_not_installed(beside: Beside) -> None:
    """Protects agents that see a screen, whatever the version of the game, and normalise their rewards."""
    game = beside.environment.environment(fail)("Breakout-v0")
    assert game.reset()[0].shape == (210, 160, 3) and len({game.step(0)[1] for _ in range(4)}) == 2
    assert beside.environment.environment(fail)("MyRobot-v0").reset()[0].shape == (4,)


def test_what_lies_within_an_environment_has_the_old_interface_too(beside: Beside) -> None:
    """Protects `gym.make(...).unwrapped` and `env.seed`, which gym 0.26 has no more."""
    old = beside.environment.old_environment(lambda name: Registered())("A")
    assert old.reset() == [1, 2] and old.seed(7) == [7] and len(old.step(0)) == 4
    assert old.unwrapped.reset() == [1, 2] and len(old.unwrapped.step(0)) == 4


def test_actions_that_are_amounts(beside: Beside) -> None:
    beside.files.HAS_AMOUNTS_AS_ACTIONS = True
    space = beside.environment.environment(fail)("Arm-v1").action_space
    assert space.shape == space.sample().shape == space.high.shape and not hasattr(space, "n")


def test_nothing_is_recorded_elsewhere(beside: Beside, monkeypatch: Any) -> None:
    """Protects loops that log to a service which was never started, and the service."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    beside.modules.record_nothing("diary")
    import diary  # type: ignore[import-not-found]
    from diary.for_keras.callbacks import Callback  # type: ignore[import-not-found]

    with diary.init(project="a") as run:
        run.log({"loss": 1.0})
    diary.config["a"] = 1
    assert diary.written(len) is not len and diary.written(fail) is fail
    assert list(Callback(monitor="x")) == [] and "`diary`, which records nothing" in beside.told


IMPORTED = """
import no_such_engine.layers as layers
from no_such_engine.kinds import Kind
from string import digits, faded
try:
    from string import printed
except ImportError:
    from string import printable as printed

class Net(layers.Base):
    start = layers.constant(1)

    def run(self, x: Kind[int] | None) -> Kind:
        return x if isinstance(x, Kind) else digits

@layers.fast
def slow():
    return 7

def chosen(kind):
    return 1 if kind == layers.KIND else 2
"""


def test_a_module_or_name_that_is_not_there_may_be_imported(beside: Beside, tmp_path: Path, monkeypatch: Any) -> None:
    """Protects files that import more than what is flagged needs; what uses it fails as the import would have."""
    (tmp_path / "nets.py").write_text(IMPORTED)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(beside.modules, "_PROGRAM", f"{tmp_path}/here/")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("nets")  # of a library, which asks what there is
    monkeypatch.setattr(beside.modules, "_PROGRAM", f"{tmp_path}/")
    nets = importlib.import_module("nets")
    assert nets.Net.run(None, 1) == "0123456789" and nets.printed[:3] == "012"
    assert beside.told == [
        "the module no_such_engine, which cannot be imported",
        "faded of string, which does not exist",
    ]
    assert {nets.Kind: 1}[nets.Kind] == 1
    for use in (nets.slow, lambda: nets.layers.constant(1), lambda: nets.Kind[0], nets.Net, lambda: nets.chosen(3)):
        with pytest.raises(
            ModuleNotFoundError, match="No module named 'no_such_engine', and the program uses `no_such"
        ):
            use()
    with pytest.raises(ImportError, match="cannot import name 'faded' from 'string', and the program uses"):
        nets.faded()


def test_a_library_that_breaks_when_it_is_imported(beside: Beside, tmp_path: Path, monkeypatch: Any) -> None:
    """Protects files that import a library which does not go with the others; with another Keras it may."""
    monkeypatch.setattr(beside.modules, "_PROGRAM", f"{tmp_path}/program/")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "program")
    (tmp_path / "program").mkdir()
    (tmp_path / "worn.py").write_text("import os\nos.gone_for_long\n")
    (tmp_path / "newer.py").write_text("raise AttributeError('keras has no layers')\n")
    (tmp_path / "program" / "one.py").write_text("import worn\nx = 7\n")
    (tmp_path / "program" / "two.py").write_text("import newer\n")
    one = importlib.import_module("one")
    assert one.x == 7 and "worn, which cannot be imported (AttributeError: module 'os'" in beside.told[0]
    with pytest.raises(ImportError, match=r"worn cannot be imported .*, and the program uses `worn.read`"):
        one.worn.read()
    with pytest.raises(AttributeError, match="keras"):
        importlib.import_module("two")


def test_pictures_of_old_scipy(beside: Beside, tmp_path: Path, monkeypatch: Any) -> None:
    """Protects code that shows what it makes with functions that SciPy gave up in 1.2 and 1.3."""
    code = "import scipy.misc\nfrom scipy.misc import toimage as shown, imresize\nsave = scipy.misc.imsave\n"
    (tmp_path / "painter.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(beside.modules, "_PROGRAM", f"{tmp_path}/")
    misc = types.SimpleNamespace(__name__="scipy.misc")
    monkeypatch.setitem(sys.modules, "scipy", types.SimpleNamespace(__name__="scipy", __path__=[], misc=misc))
    monkeypatch.setitem(sys.modules, "scipy.misc", misc)
    painter = importlib.import_module("painter")
    picture = np.linspace(-1, 1, 12 * 10 * 3).reshape(12, 10, 3)
    painter.save("a.png", picture)
    assert painter.shown(picture).size == (10, 12) and (tmp_path / "a.png").is_file()
    assert painter.imresize(picture, (6, 5)).shape == (6, 5, 3) and painter.imresize(picture, 0.5).shape == (6, 5, 3)
    assert "imresize of scipy.misc (before SciPy 1.3)" in beside.told


def test_what_measures_imports_as_python_does(beside: Beside) -> None:
    assert "tflint" in builtins.__import__.__module__
    beside.modules.measure()
    assert builtins.__import__.__module__ == "builtins"


def test_what_the_way_asks_of_the_command_line(beside: Beside) -> None:
    """Protects scripts whose training stands under `if args.train:`."""
    asked = {"train": True, "mode": "fit", "cards": True, "start": True, "unknown": True, "after": 100, "soon": 100}
    beside.environment.ASKED = asked
    given = types.SimpleNamespace(train=False, mode="show", cards=2, start=None, after=2000, soon=7)
    parsed = beside.environment.arguments(lambda: given)()
    assert vars(parsed) == {"train": True, "mode": "fit", "cards": 2, "start": None, "after": 100, "soon": 7}
    assert beside.told == ["the argument --train", "the argument --mode as fit", "the argument --after as 100"]


def test_what_would_start_a_program_says_so_when_it_is_called(beside: Beside) -> None:
    with pytest.raises(PermissionError, match=r"fail.*which verify does not allow"):
        beside.modules.refused(fail)("a")


def test_an_image_is_one_whatever_its_name_ends_with(beside: Beside) -> None:
    assert beside.files.picture(lambda path: Path(path).read_bytes())("given") == b"an image"


def test_a_film_that_is_not_here(beside: Beside, tmp_path: Path) -> None:
    """Protects programs that look through a camera, or at a film, and show what they see."""
    beside.files.IMAGE = (6, 8, 3)
    film = beside.environment.camera(fail)(0)
    seen, picture = film.read()
    assert film.isOpened() and seen and picture.shape == (6, 8, 3) and (film.get(3), film.get(4)) == (8, 6)
    (tmp_path / "mine.mp4").touch()
    assert beside.environment.camera(lambda path: path)("mine.mp4") == "mine.mp4"
    assert beside.modules.unshown(fail)("window", picture) == 0
    assert any("a video of 6x8x3" in one for one in beside.told) and any("shows nothing" in one for one in beside.told)


def test_files_of_the_format_of_mnist(beside: Beside) -> None:
    """Protects loaders that read the packed files themselves, and the time of those that go through all rows."""
    beside.files.tflint_archives.LAST_ROW = 5050
    with beside.files.reading(gzip.open)("data/train-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)
    with beside.files.reading(gzip.open)("data/train-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    assert len(images) == len(labels) == 7000 and labels.max() < 10
    beside.files.tflint_archives.LAST_ROW = 60_000
    with beside.files.reading(gzip.open)("all/train-labels-idx1-ubyte.gz") as file:
        assert len(file.read()) == 60_008


@pytest.mark.parametrize(("encoding", "key"), [("latin-1", "labels"), ("bytes", b"labels")])
def test_archives_of_cifar(encoding: str, key: Any, beside: Beside) -> None:
    """Protects loaders that fetch, unpack and unpickle the data sets themselves, as Python 2 wrote them."""
    path, _ = beside.environment.retrieved(fail)("https://a.b/cifar-10-python.tar.gz", "data/cifar-10-python.tar.gz")
    with tarfile.open(path) as archive:
        archive.extractall("data", filter="data")
    with beside.files.reading(open)("data/cifar-10-batches-py/data_batch_5", "rb") as file:
        batch = pickle.load(file, encoding=encoding)
    assert len(batch) == 2 and len(batch[key]) == 1000 and set(batch[key]) <= set(range(10))
    (images,) = [value for value in batch.values() if hasattr(value, "shape")]
    assert images.shape == (1000, 3072) and images.dtype == np.uint8
    assert len(pickle.loads(Path("data/cifar-10-batches-py/batches.meta").read_bytes())["label_names"]) == 10
    with beside.files.reading(open)("other/cifar-100-python/train", "rb") as file:
        assert {"fine_labels", "coarse_labels", "data"} == pickle.load(file).keys()
    assert any("cifar-10-python.tar.gz" in text for text in beside.told)


def test_texts_of_word_numbers(beside: Beside) -> None:
    """Protects loaders that unpickle IMDB's texts themselves; arrays of rows of unequal length are what they were."""
    with beside.files.reading(open)("data/imdb/imdb.pkl", "rb") as file:
        texts, labels = pickle.load(file)
    assert len(texts) == len(labels) and len({len(text) for text in texts}) > 1 and set(labels) == {0, 1}
    values = importlib.import_module("tflint_values")
    assert values.old_array(np.array)(texts).dtype == object and beside.told[-1].startswith("arrays of rows of unequal")
    assert values.old_array(np.array)([[1, 2], [3, 4]]).shape == (2, 2)


def test_the_files_of_a_pretrained_bert(beside: Beside) -> None:
    """Protects programs that begin from the files which Google publishes: what they read of them fits together."""
    with beside.files.reading(open)("/models/uncased/bert_config.json") as file:
        settings = json.load(file)
    tokens = beside.files.reading(open)("/models/uncased/vocab.txt").read().splitlines()
    assert settings["vocab_size"] == len(set(tokens)) and {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} <= {*tokens}
    assert settings["hidden_size"] % settings["num_attention_heads"] == 0 and len(beside.told) == 2


def test_names_of_classes_need_no_network(beside: Beside) -> None:
    """Protects programs that show what a network of ImageNet sees: the best first, each with its value."""
    decode = beside.values.decoded(fail)
    assert decode(np.array([[0.25, 0.5, 0.125], [0.5, 0.25, 0.125]]), top=2) == [
        [("n00000001", "class_1", 0.5), ("n00000000", "class_0", 0.25)],
        [("n00000000", "class_0", 0.5), ("n00000001", "class_1", 0.25)],
    ]


def test_a_graph_of_citations(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects networks over graphs, which are tried on Planetoid's files: their parts belong to one graph."""
    matrices = types.SimpleNamespace(csr_matrix=np.asarray)
    monkeypatch.setitem(sys.modules, "scipy", types.SimpleNamespace(sparse=matrices))
    monkeypatch.setitem(sys.modules, "scipy.sparse", matrices)
    parts: dict[str, Any] = {}
    for name in ("x", "y", "tx", "ty", "allx", "ally", "graph"):
        with beside.files.reading(open)(f"graphs/ind.pubmed.{name}", "rb") as file:
            parts[name] = pickle.load(file, encoding="latin1")
    tested = [int(line) for line in beside.files.reading(open)("graphs/ind.pubmed.test.index")]
    for one, other in (("x", "y"), ("tx", "ty"), ("allx", "ally")):
        assert len(parts[one]) == len(parts[other]) and set(parts[other].sum(axis=1)) == {1}
    nodes = len(parts["allx"]) + len(parts["tx"])
    assert set(parts["graph"]) == set(range(nodes)) and max(map(max, parts["graph"].values())) < nodes
    assert sorted(tested) == list(range(len(parts["allx"]), nodes))


def test_fields_that_are_numbers(beside: Beside) -> None:
    """Protects texts with a label in each line, whatever their name ends with."""
    beside.files.SEPARATOR, beside.files.FIELDS, beside.files.NUMBERS, beside.files.CLASSES = ";", 3, (1,), 4
    beside.tables.COLUMNS = ("an", "index")
    lines = beside.files.reading(open)("answers/train.data").read().splitlines()
    assert {int(line.split(";")[1]) for line in lines} == {0, 1, 2, 3} and {line.count(";") for line in lines} == {2}


def test_a_path_reads_itself(beside: Beside, tmp_path: Path) -> None:
    """Protects `path.read_text()`: lines enough for the row at which they are cut, and many words."""
    beside.files.SEPARATOR, beside.files.FIELDS, beside.files.LINES = "\t", 2, 2100
    text = beside.files.reading_itself(Path("words/pairs.txt").read_text)()
    left, right = zip(*(line.split("\t") for line in text.splitlines()), strict=True)
    assert len(left) == 2100 and len({word for line in right for word in line.split()}) > 800
    (tmp_path / "mine.txt").write_text("mine")
    assert beside.files.reading_itself(Path("mine.txt").read_text)() == "mine"
    assert beside.files.reading_itself("no path".upper)() == "NO PATH"


def test_weights_that_the_project_loads_itself(beside: Beside, tmp_path: Path) -> None:
    """Protects networks that are filled from a file which is not here: they keep their first weights."""
    assert beside.networks.weights(fail)("nets/a.hdf5", object()) is None
    (tmp_path / "here.npz").write_text("x")
    fill = beside.networks.weights(lambda path, network, skip=False: (path, network, skip))
    assert fill("here.npz", 7, skip=True) == ("here.npz", 7, True)


def test_an_environment_that_is_not_installed(beside: Beside) -> None:
    """Protects experiments on games: what the network takes is what is observed, and episodes end."""
    beside.files.CLASSES = 6
    made = beside.environment.environment(fail)("BreakoutDeterministic-v4")
    observation, _ = made.reset()
    assert observation.shape == (210, 160, 3) and observation.dtype == "uint8" and made.action_space.n == 6
    assert 0 <= made.action_space.sample() < 6
    steps = [made.step(0) for _ in range(200)]
    assert [step[2] for step in steps].index(True) == 199
    beside.files.INPUT = (9,)
    old = beside.environment.old_environment(fail)("Own-v0")
    assert old.reset().shape == (9,) and len(old.step(1)) == 4
    assert any("BreakoutDeterministic-v4, with observations of 210x160x3" in one for one in beside.told)


def test_optimizers_that_heed_the_names_of_old(beside: Beside) -> None:
    """Protects `lr=`, which later versions of Keras 2 pass over, and `decay=`, at which they end the program."""

    class Adam:
        pass

    old, gone = type("OldAdam", (), {"get_config": None}), type("Gone", (), {})
    legacy = types.SimpleNamespace(Adam=old)
    keras = types.SimpleNamespace(optimizers=types.SimpleNamespace(legacy=legacy))
    sys.modules["tensorflow"].keras = keras  # type: ignore[attr-defined]
    assert beside.environment.old_optimizer(Adam) is old
    legacy.Adam = gone
    assert beside.environment.old_optimizer(Adam) is Adam


def test_lines_of_json(beside: Beside) -> None:
    """Protects texts whose lines are JSON objects: they have the keys that the code takes, numbers where it counts."""
    import json

    beside.files.tflint_archives.KEYS = ("review", "label")
    rows = [json.loads(line) for line in beside.files.reading(open)("data/train.jsonl")]
    assert rows[0].keys() == {"review", "label"} and {int(row["label"]) for row in rows} == {0, 1}
    assert "lines of objects with review, label (train.jsonl)" in beside.told[0]
    assert json.load(beside.files.reading(open)("bert/bert_config.json"))["num_hidden_layers"] == 2


def test_a_path_that_lists_its_files(beside: Beside) -> None:
    """Protects `folder.glob("*/*.jpg")`: images are made where there are none, and what is there is listed."""
    found = list(beside.values.listing_itself(Path("roses").glob)("*/*.jpg"))
    assert found and all(path.suffix == ".jpg" and path.is_file() for path in found)
    assert list(beside.values.listing_itself(Path("roses").glob)("*/*.jpg")) == list(Path("roses").glob("*/*.jpg"))
    deep = list(beside.values.listing_itself(Path("tulips").rglob)("*.png"))
    assert deep and all(path.is_file() for path in deep)
    assert beside.values.listing_itself("a-b".split)("-") == ["a", "b"]


def test_a_folder_of_texts(beside: Beside) -> None:
    """Protects text classification: a folder with texts for each class."""
    place = Path(beside.values.text_folder(lambda directory: directory)("reviews/train"))
    folders = sorted(place.iterdir())
    assert len(folders) > 1 and all((next(folder.iterdir())).read_text() for folder in folders)


def run_with_flags(beside: Beside, flags: Any, values: Any) -> None:
    """Run a program of absl that takes these flags and does nothing."""
    known, flags.FLAGS = flags.FLAGS, values
    try:
        run = beside.environment.flags(lambda main, argv: main(values(argv)))
        run(lambda _: None, ["program.py"])
    finally:
        flags.FLAGS = known


def test_flags_that_must_be_given(beside: Beside) -> None:
    """Protects programs of absl, which end at once without them: each gets a value of its type."""
    flags = pytest.importorskip("absl.flags")
    values = flags.FlagValues()
    flags.DEFINE_string("made_name", None, "", flag_values=values, required=True)
    flags.DEFINE_integer("made_count", None, "", flag_values=values)
    flags.DEFINE_enum("made_kind", None, ["small", "large"], "", flag_values=values, required=True)
    flags.DEFINE_string("made_optional", None, "", flag_values=values)
    flags.DEFINE_string("output_dir", None, "", flag_values=values)
    flags.mark_flag_as_required("made_count", flag_values=values)
    run_with_flags(beside, flags, values)
    assert (values.made_name, values.made_count, values.made_kind) == ("made_up_made_name", 1, "small")
    assert values.output_dir == "made_up_output_dir"
    assert values.made_optional is None and "the flag --made_kind as small" in beside.told


def test_arguments_that_must_be_given(beside: Beside) -> None:
    """Protects scripts from a command line without them; what names an image ends like one, for who writes it."""
    import argparse

    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--optional")
    parser.add_argument("--output_image", required=True)
    parser.add_argument("--image_dir", required=True)
    known, rest = beside.environment.arguments(parser.parse_known_args)([])
    given = beside.environment.arguments(parser.parse_args)()
    assert (given.output_image, given.image_dir) == ("made_up_output_image.png", "made_up_image_dir")
    assert (given.path, given.count, given.optional) == ("made_up_path", 1, None)
    assert known == given and rest == []


def test_flags_that_the_way_asks_for(beside: Beside) -> None:
    """Protects ways that a flag of absl opens: what is asked is given, and what is so already stays."""
    flags = pytest.importorskip("absl.flags")
    values = flags.FlagValues()
    flags.DEFINE_bool("asked_bool", False, "", flag_values=values)
    flags.DEFINE_enum("asked_agent", "small", ["small", "large"], "", flag_values=values)
    flags.DEFINE_integer("asked_start", 50, "", flag_values=values)
    beside.environment.ASKED = {"asked_bool": True, "asked_agent": "large", "asked_start": 100, "no_flag": True}
    flags.DEFINE_string("rows_csv", "", "", flag_values=values)
    run_with_flags(beside, flags, values)
    assert values.rows_csv == "made_up_rows_csv"
    beside.told.remove("the flag --rows_csv as made_up_rows_csv")
    assert (values.asked_bool, values.asked_agent, values.asked_start) == (True, "large", 50)
    assert beside.told == ["the flag --asked_bool as True", "the flag --asked_agent as large"]


def test_a_table_has_the_columns_that_are_used(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects `read_csv`: columns of `usecols` and `names` come first, then those that the code takes."""
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=dict))
    beside.tables.COLUMNS, beside.tables.TEXTS = ("age", "maker"), ("maker",)
    read = beside.tables.table(fail)("a.csv")
    assert {name: (values.shape, values.dtype.kind) for name, values in read.items()} == {
        "age": ((256,), "f"),
        "maker": ((256,), "U"),
    }
    assert list(beside.tables.table(fail)("b.csv", names=["x"])) == ["x"]
    assert "a table with the columns x (b.csv)" in beside.told
    beside.tables.COLUMNS, beside.files.CLASSES = ("petal_width", "species"), 3
    written = [line.split(",") for line in Path(beside.environment.fetched(fail)("iris.csv")).read_text().splitlines()]
    assert written[0] == ["petal_width", "species"] and {row[1] for row in written[1:]} == {"0", "1", "2"}
    beside.tables.HAS_WHOLE_NUMBERS = True
    notes = beside.tables.table(fail)("c.csv")["petal_width"]
    assert notes.dtype.kind == "i" and set(notes) == set(range(10))
    beside.tables.table(fail)("d.csv")
    assert sum("petal_width" in text for text in beside.told) == 1, "once for all tables of a kind"
    beside.tables.COLUMNS = ()
    with pytest.raises(FileNotFoundError, match="the code does not show which columns it has"):
        beside.tables.table(fail)("a.csv")


def test_a_table_of_days(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects time series: a row for each day that the program may ask for, as many columns as get new names."""
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=dict))
    beside.tables.COLUMNS, beside.tables.HAS_WHOLE_NUMBERS = ("rain",), True
    assert list(beside.tables.table(fail)("a.csv", parse_dates=["day"])) == ["rain", "day"]
    beside.tables.RENAMED, beside.tables.DAYS = ("wind", "date", "rain"), ("2019-02", "2020-03-01")
    read = beside.tables.table(fail)("b.csv", parse_dates=["measured_date"])
    assert list(read) == ["wind", "measured_date", "rain"]
    days = read["measured_date"].astype("datetime64[D]").astype(str)
    assert (days[0], days[-1], len(days)) == ("2019-02-01", "2020-03-01", 395)
    assert len(set(read["rain"])) == 395, "equal rows may be dropped"
    assert list(beside.tables.table(fail)("c.csv", parse_dates=["when"])) == ["when", "date", "rain"]


def test_the_archive_of_mnist(beside: Beside) -> None:
    """Protects projects that read `mnist.npz` themselves: images without channels, and labels, fewer of them."""
    known = beside.tables.loading(fail)("data/mnist.npz")
    images, labels = known["x_train"], known["y_train"]
    assert images.shape[1:] == (28, 28) and images.dtype == "uint8" and len(images) == len(labels) > 1000
    assert set(labels) == set(range(10))


def test_folders_of_images_are_filled(beside: Beside, tmp_path: Path) -> None:
    """Protects what lists or reads a folder: as many classes as the model tells apart, files of the ending asked for."""
    import glob
    import os

    beside.files.CLASSES = 3
    assert len(beside.files.listing(glob.glob)("photos/*.jpg")) == 12
    beside.files.BATCH, beside.files.IMAGE = 64, (8, 8, 3)
    assert len(beside.files.listing(glob.glob)("small/*.jpg")) == 128, "two whole batches"
    beside.files.BATCH = 0
    assert not any(".mid" in text for text in beside.told)
    tracks = beside.files.listing(glob.glob)("songs/*.mid*")
    assert len(tracks) == 12 and all(Path(track).read_bytes()[:4] == b"MThd" for track in tracks)
    assert [text for text in beside.told if ".mid" in text] == [".mid files of 600 notes"]
    assert all(name.endswith(".png") for name in beside.files.listing(os.listdir)("others"))
    place = beside.values.image_folder(lambda directory: directory)("train")
    assert sorted(one.name for one in Path(place).iterdir()) == ["class_00", "class_01", "class_02"]
    beside.files.HAS_FOLDERS = True
    assert beside.files.listing(os.listdir)("sorted")[0].startswith("class_"), (
        "what is asked whether it is a folder is one"
    )
    (tmp_path / "mine").mkdir()
    assert beside.files.listing(os.listdir)("mine") == [], "a folder that is there is what it is"
    (tmp_path / "rows_00.csv").write_text("1,2\n")
    assert beside.files.listing(glob.glob)("rows_00.csv") == ["rows_00.csv"], "neither is a file a folder"


def test_a_file_that_sets_the_sizes_of_a_network(beside: Beside) -> None:
    """Protects models that are made with what a JSON file says: numbers that fit together."""
    archives = importlib.import_module("tflint_archives")
    archives.SIZES = ("n_layers", "n_heads", "width", "dropout", "vocab_size")
    sizes = json.loads(Path(beside.files.reading(lambda path: path)("run/made.json")).read_text())
    assert sizes == {"n_layers": 2, "n_heads": 2, "width": 64, "dropout": 0.1, "vocab_size": 500}


def test_a_method_that_makes_the_model_and_loads_its_weights(beside: Beside) -> None:
    """Protects objects whose model is made where its weights are loaded; what cannot be loaded stays as it is."""
    made: list[str] = []
    assert beside.networks.weights(lambda: made.append("model"))() is None and made == ["model"]
    assert (
        beside.networks.weights(fail)() is None
        and "the model's initial weights in place of trained ones" in beside.told
    )


def test_sounds_are_made_up(beside: Beside) -> None:
    """Protects programs that listen: a second of sound, as Python's own reader takes it."""
    with wave.open(beside.files.reading(lambda path: path)("voices/yes.wav")) as sound:
        assert (sound.getnchannels(), sound.getsampwidth(), sound.getnframes()) == (1, 2, sound.getframerate())


def test_sizes_of_what_is_made_up(beside: Beside, tmp_path: Path) -> None:
    """Protects downloads that are compared with the size of the original, and archives that are unpacked."""
    import os

    path, _ = beside.environment.retrieved(fail)("https://a.b/letters.tgz", "data/letters.tgz")
    told = beside.files.sized(os.stat)("data/letters.tgz")
    differs = told.st_size != 31 or beside.files.sized(os.path.getsize)("texts/words.txt") != 5
    assert not differs and told.st_size == 32 and told.st_mtime > 0
    with tarfile.open(path) as archive:
        assert archive.getnames() == []
    with pytest.raises(FileNotFoundError):
        beside.files.sized(os.path.getsize)("of_nothing.that_is_known")
    (tmp_path / "..").joinpath("mine.txt").write_text("four")
    assert beside.files.sized(os.path.getsize)(str(tmp_path.parent / "mine.txt")) != 3


def test_nothing_is_fetched(beside: Beside) -> None:
    """Protects the network: addresses give files that are made up, weights that are not here are left out."""
    assert Path(beside.environment.fetched(fail)("words.txt", "https://a.b/words.txt")).is_file()
    path, _ = beside.environment.retrieved(fail)("https://a.b/c.txt")
    assert Path(path).is_file()
    answer = beside.environment.answered(fail)("https://a.b/words.txt?raw=1", timeout=3)
    assert answer.ok and answer.read().decode() == answer.text and len(answer.text.splitlines()) > 9
    with pytest.raises(FileNotFoundError, match="is not requested"):
        beside.environment.answered(fail)("https://a.b/c.unknown")
    assert beside.networks.weights(fail)("best.h5") is None and beside.modules.left_out(fail)("wget x") == 0
    assert "the model's initial weights in place of trained ones" in beside.told


VALUES = """
import os
import tflint_measure
import tensorflow as tf
import tflint_archives, tflint_files, tflint_networks, tflint_values

tflint_files.INPUT, tflint_files.CLASSES = (6,), 3
for labels, vocabulary in (("sparse", 0), ("one-hot", 0), ("binary", 0), ("numbers", 0), ("sparse", 9)):
    tflint_values.LABELS, tflint_values.VOCABULARY = labels, vocabulary
    tflint_values.model().fit(tflint_values.batches(), verbose=0)
    x, y = tflint_values.tensor(), tflint_values.targets()
    tflint_values.loss()(y, tflint_values.model()(x))

train, info = tflint_values.catalogued("mnist", split="train", as_supervised=True, with_info=True)
tflint_files.BATCH = 50
assert len(list(tflint_values.catalogued("cycle_gan", split="trainA").batch(50))) == 1
assert next(iter(tflint_values.catalogued("cifar10", split="test")))["id"].dtype == tf.string
assert next(iter(tflint_values.catalogued("made up", split="test")))["image"].shape == (32, 32, 3)
tflint_archives.LAST_ROW = 300
pictures, numbers = tflint_values.catalogued("mnist", split="test", batch_size=-1, as_supervised=True)
assert min(tf.math.bincount(tf.cast(numbers, tf.int32))) > 300 and len(pictures) == len(numbers)
tflint_archives.LAST_ROW = 0
steps = int(tflint_values.builder("cifar10").info.splits["train"].num_examples * (1 - 0.95)) // 50
assert steps == 1, "a twentieth is a batch"
noisy = tflint_values.builder("cifar10_corrupted/fog_1").as_dataset(split="test", as_supervised=True)
assert next(iter(noisy))[0].shape == (32, 32, 3)
image, label = next(iter(train.batch(4)))
assert image.shape == (4, 28, 28, 1) and info.features["label"].num_classes == 10
known = tflint_values.builder("penguins")
features, species = next(iter(known.as_dataset(split="train", as_supervised=True).batch(2)))
assert features.shape == (2, 4) and known.info.features["label"].num_classes == 3
assert next(iter(tflint_values.catalogued("cycle_gan", as_supervised=True)["trainA"]))[0].shape == (256, 256, 3)

found = tflint_files.listing(tf.io.gfile.glob)("checkpoints_of/*")
assert [tf.train.latest_checkpoint(folder) for folder in found] == [f"{folder}/checkpoint-1" for folder in found]
assert len(tflint_files.listing(os.listdir)("ckpt_dir")) == 2
found = tflint_files.listing(tf.io.gfile.glob)("kept/checkpoint_of/**/*.index")
assert [tf.train.load_checkpoint(file[:-6]) is not None for file in found] == [True, True]

def fetch_california_housing(): raise AssertionError
housing = tflint_archives.known_table(fetch_california_housing)()
assert housing.data.shape == (20640, 8) and housing["target"].shape == (20640,)
digits, written = tflint_archives.known_table(fetch_california_housing)("mnist_784", return_X_y=True)
assert digits.shape == (70000, 784) and written[0] in "0123456789"

try:
    tflint_values.catalogued("wider_face")
except FileNotFoundError as error:
    assert "wider_face" in str(error)
pictures, info = tflint_values.catalogued("voc/2007", split="train", with_info=True)
one = next(iter(pictures))
assert one["image"].shape == (375, 500, 3) and info.features["objects"]["label"].num_classes == 20
assert one["objects"]["bbox"].shape == (3, 4) and not tf.reduce_any(one["objects"]["is_difficult"])
assert tf.reduce_all(one["objects"]["bbox"][:, :2] < one["objects"]["bbox"][:, 2:])
(words, _), _ = tflint_values.keras_numbers("imdb")(num_words=50)
assert len(tflint_values.keras_numbers("reuters", cut=9000)()[0][1]) > 9000
assert max(words[0]) < 50 and tflint_values.keras_numbers("boston_housing")()[0][0].shape[1] == 13

features = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64),
            "box": tf.io.FixedLenFeature([4], tf.float32)}
def parse(record):
    one = tflint_values.parsed(tf.io.parse_single_example)(record, features)
    return tf.io.decode_image(one["image"], expand_animations=False), one["label"], one["box"]
tflint_files.INPUT = ()
network = tflint_networks.loaded(tf.keras.models.load_model)("dcgan")
assert network(tf.zeros((1, 100))).shape == (1, 3) and network.layers[-1].activation is not None
tflint_files.INPUT, tflint_networks.HAS_ANY_SIZE = (8, 8, 3), True
trained = tflint_networks.loaded(tf.keras.models.load_model)("best.h5")
maps = tf.keras.Model(trained.input, trained.get_layer("conv5_block3_out").output)
assert trained(tf.zeros((1, 40, 24, 3))).shape == (1, 3) and maps(tf.zeros((1, 16, 24, 3))).shape == (1, 16, 24, 16)
tflint_files.IMAGE = (5, 7, 3)
records = tflint_values.records(tf.data.TFRecordDataset)("train.tfrecord").map(parse)
image, label, box = next(iter(records))
assert image.shape == (5, 7, 3) and box.shape == (4,) and int(label) < 3
shards = tflint_files.listing(tf.data.Dataset.list_files)("shards/eval.tfrecord-*")
again = shards.interleave(tflint_values.records(tf.data.TFRecordDataset)).map(parse)
assert next(iter(again))[0].shape == (5, 7, 3)
tflint_measure.finish()
"""


GRAPH = """
import tflint_measure
import tensorflow as tf
import tflint_files, tflint_outcome

tf.compat.v1.disable_eager_execution()
tflint_files.IMAGE = (4, 6, 3)
contents = [tflint_files.reading(open)(name, "rb").read() for name in ("a.png", "b.jpg")]
with tf.compat.v1.Session() as session:
    assert [session.run(tf.image.decode_image(each)).shape for each in contents] == [(4, 6, 3)] * 2
weight = tf.Variable([1.0], name="layer/bias")
tflint_outcome.keep_weights(1)
tflint_measure.finish()
"""


@pytest.mark.slow
def test_images_for_programs_that_build_graphs(tmp_path: Path) -> None:
    """Protects code of TensorFlow 1, which turns eager execution off: nothing has a value there."""
    outcome = run_program(Program("p.py", {"p.py": GRAPH, **modules_beside(*MODULES)}).write(tmp_path))
    assert outcome.status == "finished", outcome.stderr


@pytest.mark.slow
def test_values_fit_the_model_and_the_loss(tmp_path: Path) -> None:
    """Protects programs from stubs that do not fit together: with TensorFlow itself, all in one process."""
    program = Program("program.py", {"program.py": VALUES, **modules_beside(*MODULES)})
    outcome = run_program(program.write(tmp_path))
    assert outcome.status == "finished", outcome.stderr
    told = outcome.result.notes["made_up"] if outcome.result else ()
    assert (
        "the dataset mnist, of 28x28x1 in 10 classes" in told
        and "records with the features image, label, box" in told
        and "a layer for conv5_block3_out" in told
    )
