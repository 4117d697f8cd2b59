"""What is made up for what a program takes from elsewhere: told by how the code uses it."""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
import types
from pathlib import Path

import pytest
from checks import model_of
from verified import cases_of

from tflint_gpu.verify.slicing.old_keras import old_names_of_numpy, signs_of_keras_2
from tflint_gpu.verify.stubs.hints import hints_of
from tflint_gpu.verify.stubs.missing import UnknownName, call_of, left_open, undefined_names
from tflint_gpu.verify.stubs.readers import read_elsewhere, replaced_functions
from tflint_gpu.verify.stubs.roles import role

ROLES = {
    'print(f"{x}!")': "made up",
    'load("{}_{}".format(kind, x))': "made up",
    "name = kind + str(x)": "made up",
    'load(x + "_1")': "made up",
    "x.fit(1, epochs=2)": "model()",
    "y = x.trainable_variables": "model()",
    "x.apply_gradients(z)": "optimizer()",
    "m.compile(optimizer=x)": "optimizer()",
    "with x.scope(): pass": "strategy()",
    "for a, b in x: pass": "batches(2)",
    "for i, (a, b) in enumerate(x): pass": "batches(2)",
    "for a in x: pass": "batches(1)",
    "for a, b in tqdm(x.take(3)): pass": "batches(2)",
    "d = x.shuffle(9).batch(3)": "rows(2)",
    "d = x.map(f)": "batches(2)",
    "m.fit(x, q)": "inputs()",
    "m.fit(x)": "batches(2)",
    "m.fit(q, x)": "labels()",
    "m.fit(a, b, validation_data=(q, x))": "labels()",
    "d = tf.data.Dataset.from_tensor_slices((x, q))": "inputs()",
    "m.predict(x)": "inputs()",
    "for i in range(x): pass": "1",
    "m.fit(a, epochs=x)": "1",
    "d = d.batch(x)": "32",
    "open(x)": "made_up",
    "l = x(a, b)": "loss()",
}


@pytest.mark.parametrize(("code", "expected"), ROLES.items())
def test_roles(code: str, expected: str) -> None:
    """Protects each kind of evidence: a stub of another kind only leads to a program that fails."""
    found = role("thing", ast.parse(re.sub(r"\bx\b", "thing", code)).body)
    assert found is not None and expected in found.text


@pytest.mark.parametrize(
    ("name", "annotation", "expected"),
    [
        ("batch_size", None, "32"),
        ("n_epochs", None, "1"),
        ("learning_rate", None, "0.001"),
        ("train_ds", None, "batches(2)"),
        ("generator", None, "model()"),
        ("y_train", None, "targets()"),
        ("images", None, "tensor()"),
        ("save_path", None, "made_up"),
        ("q", "tf.data.Dataset", "batches(2)"),
        ("q", "'keras.Model'", "model()"),
        ("q", "int", "1"),
        ("question", None, "made up"),
        ("blur_name", None, "made up"),
    ],
)
def test_roles_by_name_and_annotation(name: str, annotation: str | None, expected: str) -> None:
    given = ast.parse(annotation, mode="eval").body if annotation else None
    found = role(name, ast.parse("pass").body, given)
    assert found is not None and expected in found.text


def test_what_nothing_tells_gets_no_stand_in() -> None:
    assert role("cfg", ast.parse("print(cfg.a)").body) is None


def test_a_function_is_called_with_stand_ins() -> None:
    """Protects libraries and halves of scripts: defaults stay, methods run on an object of their class."""
    tree = ast.parse(
        textwrap.dedent(
            """
            def train(model, ds, epochs, *, verbose, depth=3): model.fit(ds, epochs=epochs)
            class Net:
                def __init__(self, units: int, rate=0.1): pass
                def call(self, inputs): pass
                def train_step(self, data): pass
                def run(self, cfg): pass
                @staticmethod
                def each(batch_size): pass
            """
        )
    )
    name, call = call_of(tree, 2)
    assert name == {"train"} and call.lines == (
        "train(model=tflint_values.model(), ds=tflint_values.batches(2), epochs=1, verbose=False)",
    )
    assert "`model` of `train`: a small model" in call.made_up
    assert call_of(tree, 4) == ({"Net"}, call_of(tree, 4)[1]) and call_of(tree, 4)[1].lines == ("Net(units=1)",)
    assert call_of(tree, 5)[1].lines == ("Net(units=1)(inputs=tflint_values.tensor())",)
    assert call_of(tree, 6)[1].lines[-1] == "made_up.fit(tflint_values.inputs(), tflint_values.labels())"
    assert call_of(tree, 9)[1].lines == ("Net(units=1).each(batch_size=32)",)
    with pytest.raises(UnknownName, match="cfg"):
        call_of(tree, 7)


def test_what_is_reached_only_with_an_argument_that_may_be_left_out() -> None:
    """Protects functions that are called for what they do with an optional data set."""
    code = """
        def train(train_ds, test_ds=None, sink=None, kind=None):
            if kind is not None:
                start(kind)
            if test_ds is not None and sink is not None:
                evaluate(test_ds)
    """
    tree = ast.parse(textwrap.dedent(code))
    plain, reaching = (call_of(tree, 2, rows)[1].lines for rows in ((), (6,)))
    assert plain == ("train(train_ds=tflint_values.batches(2))",)
    assert reaching == ("train(train_ds=tflint_values.batches(2), test_ds=tflint_values.batches(2))",)


PREPARED = """
class Writer:
    def __init__(self, path):
        self.net, self.path = None, path
        self.net = None
        self.words = None

    def open(self):
        self.net = read(self.path)

    def learn(self, data):
        self.words = words_of(data)

    def close(self):
        self.file = None

    def write(self, text):
        return self.net(self.words, text)
"""


def test_an_object_is_prepared_before_its_method_is_called() -> None:
    """Protects methods that read what another one has loaded: it comes first, where nothing must be given to it."""
    _, call = call_of(ast.parse(PREPARED), 17)
    assert call.lines == (
        'made_up = Writer(path="made_up")',
        "made_up.open()",
        'made_up.write(text="made up")',
    )


MAKERS = """
def get_net(units):
    return units

def build_net(units=3):
    return units

def set_net():
    pass

def watched(Net, path):
    return Net.watch(open(path))
"""


def test_what_the_file_makes_itself_comes_before_a_stub() -> None:
    """Protects functions that take the project's own model: a stub gives other outputs than it does."""
    names, call = call_of(ast.parse(MAKERS), 11)
    assert names == {"watched", "build_net"} and call.lines == ('watched(Net=build_net(), path="made_up")',)
    assert call.made_up[0] == "`Net` of `watched`: the return value of `build_net`"


def test_names_that_nothing_defines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects snippets as people paste them, and names that are defined somewhere from being hidden."""
    monkeypatch.setattr(builtins, "display", print, raising=False)  # as IPython does where it runs
    tree = ast.parse("import os\nmodel.fit(x_train, y_train, batch_size=1, epochs=n)\nk = len(os.sep)\nprint(unused)\n")
    found = undefined_names(tree, {4})
    assert found.lines == (
        "model = tflint_values.model()",
        "n = 1",
        "x_train = tflint_values.inputs()",
        "y_train = tflint_values.labels()",
    )
    assert undefined_names(ast.parse("from lib import *\nf(x)"), ()).lines == ()
    assert undefined_names(ast.parse("def f():\n    global x\n    x = 1\nf()\nx"), ()).lines == ()
    assert undefined_names(ast.parse("import keras\ndisplay(keras.Model())"), ()).lines == ("display = print",)
    dots = list(left_open(ast.parse("model = ...\nmodel.fit(a, epochs=1)\ny: int = ...\n")))
    assert [(value.lineno, one.text) for value, one in dots] == [(1, "tflint_values.model()")]


def test_shapes_that_the_code_names(tmp_path: Path) -> None:
    """Protects made-up data from another shape than the model takes."""
    model = model_of(
        """
import keras
SIZE = (64, 48)
a = keras.Input(shape=(28, 28, 1))
b = keras.layers.Dense(64)(a)
c = keras.layers.Dense(7, activation="softmax")(b)
m = keras.Model(a, c)
m.compile(optimizer="adam", loss="categorical_crossentropy")
d = keras.utils.image_dataset_from_directory("x", image_size=SIZE)
e = frame[["age", "height"]], frame.pop("weight")
COUNTS = ["steps", "stairs"]
PLACES = [1, 2]
f = frame[COUNTS], c[PLACES]
""",
        tmp_path,
    )
    hints = hints_of(model, [model.file])
    assert (hints.inputs, hints.classes, hints.labels, hints.image) == ((28, 28, 1), 7, "one-hot", (64, 48, 3))
    assert set(hints.columns) == {"age", "height", "weight", "steps", "stairs"}
    assert "tflint_files.CLASSES = 7" in list(hints.settings())


def test_columns_that_a_table_is_read_with(tmp_path: Path) -> None:
    """Protects readers that count the fields of each line: what the code uses later is only some of them."""
    code = "import tensorflow as tf\nNAMES = ['wide', 'long', 'kind']\na = tf.data.experimental.make_csv_dataset("
    model = model_of(
        f"{code}path, 32, column_names=NAMES, label_name='kind')\nb = features['wide'], c['more']", tmp_path
    )
    assert hints_of(model, [model.file]).columns == ("wide", "long", "kind")


DAYS = """
import numpy as np, tensorflow as tf
frame = read("weather.csv")
frame.columns = ["date", "rain", "wind"]
early, late = frame["2016-01":"2018-12"], frame["2019-03-04":]
chords = tf.constant(rows, dtype=tf.int64)
with open("a") as file:
    table = np.genfromtxt(file, dtype=int, delimiter=";")
size = model.input_shape[1:-1]
"""


def test_what_the_code_says_of_tables(tmp_path: Path) -> None:
    """Protects tables whose columns are renamed, that hold days or whole numbers, and images of the model's own size."""
    model = model_of(DAYS, tmp_path)
    hints = hints_of(model, [model.file])
    assert (hints.renamed, hints.days) == (("date", "rain", "wind"), ("2016-01", "2019-03-04"))
    assert hints.has_whole_numbers and (hints.separator, hints.fields, len(hints.numbers)) == (";", 8, 8)
    assert hints.inputs == hints.image == (64, 64, 3)
    other = model_of(
        "import tensorflow as tf\na.columns = names\nb = tf.constant([1], dtype=tf.int64)\nc = '1816-01'\nd = m.input_shape[1:]",
        tmp_path,
    )
    hints = hints_of(other, [other.file])
    assert not (hints.renamed or hints.days or hints.has_whole_numbers or hints.inputs)


TABLES = """
import collections
class Table(collections.namedtuple("Table", "path,answer,left_out")):
    __slots__ = []
TABLES = {
    "boats": Table(path="boats.csv", answer="drag", left_out=["builder"]),
    "wines": Table("wines.csv", "taste", left_out=[]),
}
def load(name):
    table = TABLES.get(name)
    frame = read(table.path)
    for other in table.left_out:
        frame.pop(other)
    return frame, frame.pop(table.answer)
def normalized(name, rows):
    return rows.map(lambda x, y: x[name])
kinds = ["colour", "maker"]
for kind in kinds:
    column = normalized(kind, rows)
column = normalized("age", rows)
row = {"colour": "red", "age": 3, "other": "text"}
kinds = {"age": "float32", "drag": "float32"}
French = rows["maker"] == "Renault"
"""


def test_columns_whose_names_come_from_elsewhere(tmp_path: Path) -> None:
    """Protects tables whose columns are named in a list, in a call or in an object, and not where they are read."""
    model = model_of(TABLES, tmp_path)
    hints = hints_of(model, [model.file])
    assert set(hints.texts) == {"colour", "maker"}
    assert set(hints.columns) == {"colour", "maker", "age", "builder", "drag", "taste"}


def test_a_tpu_that_the_program_insists_on(tmp_path: Path) -> None:
    """Protects notebooks for a TPU; where code looks for one and goes on without, it is left to that."""
    found = "    t = tf.distribute.cluster_resolver.TPUClusterResolver()\n    tf.config.experimental_connect_to_cluster(t)\n"
    taken = "    s = tf.distribute.TPUStrategy(t)\n"
    insists = model_of(f"import tensorflow as tf\nif 1:\n{found}{taken}", tmp_path)
    texts = sorted(text.partition(".")[2] for _, text in replaced_functions(insists.file))
    assert texts == ["default_strategy", "no_cluster", "no_cluster"]
    looks = f"import tensorflow as tf\ntry:\n{found}except ValueError:\n    t = None\n"
    assert list(replaced_functions(model_of(looks, tmp_path).file)) == []


PAIRS = """
import tensorflow as tf
def load(name):
    picture = tf.io.decode_jpeg(tf.io.read_file(name))
    width = tf.shape(picture)[1]
    middle = width // 2
    return picture[:, :middle, :], picture[:, middle:, :]
a = tf.image.resize(load("a.jpg")[0], (96, 64))
"""


def test_pictures_that_hold_two(tmp_path: Path) -> None:
    """Protects networks that take one half of each picture from halves of half the size."""
    model = model_of(PAIRS, tmp_path)
    assert hints_of(model, [model.file]).image == (96, 128, 3)
    model = model_of(PAIRS.replace("middle:, :]", "middle, :]"), tmp_path)
    assert hints_of(model, [model.file]).image == (96, 64, 3)


READERS = {
    "import numpy as np\nx = np.load('a.npy')": "loading",
    "import pandas as pd\nx = pd.read_csv('http://a/b.csv')": "table",
    "import cv2\nx = cv2.imread('a.png')": "picture",
    "x = open('a.txt').read()": "reading",
    "import requests\nx = requests.get('http://a/b.txt').text": "answered",
    "import glob\nx = glob.glob('a/*.png')": "listing",
    "import tensorflow as tf\nx = tf.keras.utils.get_file('a.txt', 'http://a')": "fetched",
    "import tensorflow as tf\nx = tf.data.TFRecordDataset('a')": "records",
    "import tensorflow as tf\nx = tf.keras.utils.image_dataset_from_directory('a')": "image_folder",
    "import tensorflow as tf\nx = tf.keras.models.load_model('a.h5')": "loaded",
    "from tensorflow.keras.applications.vgg16 import decode_predictions\nx = decode_predictions(y, top=3)": "decoded",
    "import os\nos.system('wget http://a')": "left_out",
    "m.load_weights('a.h5')": "weights",
    "kit.files.load_hdf5_to_weights_in_order('a.h5', m)": "weights",
    "assign_params('a.npz', m)": "weights",
    "from pathlib import Path\nx = (Path('a') / 'b.txt').read_text()": "reading_itself",
    "from pathlib import Path\nx = list(Path('a').rglob('*.jpg'))": "listing_itself",
    "import glob\nx = glob.glob('*.jpg')": "listing",
    "import keras\nx = keras.utils.text_dataset_from_directory('a')": "text_folder",
    "import numpy as np\nx = np.array([cut(row) for row in rows])": "old_array",
    "import gym\ne = gym.make('CartPole-v1')\ns, r, d, i = e.step(0)": "old_environment",
    "import gym\ne = [gym.make('A')]\ns = np.array([one.reset() for one in e])": "old_environment",
    "import gym\ne = gym.make('A')\ns = e.reset()": "old_environment",
    "import gymnasium as gym\ne = gym.make('A')\ns, _ = e.reset()": "environment",
    "import gym\ne = gym.make('A')\ns = e.reset()[0]": "environment",
    "import h5py\nf = h5py.File('a.h5', 'r')": "archive",
    "import tensorflow as tf\nx = tf.io.read_file('a.jpg')": "read_bytes",
    "import cv2\ncv2.imwrite('out/a.jpg', x)": "writing",
    "import os\nos.mkdir('../out')": "writing",
    "import keras\no = keras.optimizers.Adam(lr=0.1, decay=0.01)": "old_optimizer",
    "from absl import app, flags\nflags.DEFINE_string('a', None, 'b', required=True)\napp.run(main)": "flags",
    "from absl import app, flags\nflags.DEFINE_string('log_dir', None, 'b')\napp.run(main)": "flags",
    "from absl import app, flags\nflags.mark_flags_as_required(['a'])\napp.run(main)": "flags",
    "from absl import app, flags\nflags.DEFINE_bool('a', False, 'b')\napp.run(main)": "flags",
    "from absl import app, flags\nflags.DEFINE_string('mode', 'train', 'b')\napp.run(main)": "flags",
    "p.add_argument('path')\na = p.parse_args()": "arguments",
    "p.add_argument('path')\na = p.parse_known_args(line)[0]": "arguments",
    "p.add_argument('--fit', action='store_true')\na = p.parse_args()": "arguments",
    "p.add_argument('--mode', choices=['fit', 'show'])\na = p.parse_args()": "arguments",
    "from sklearn.datasets import fetch_openml\nx = fetch_openml('mnist_784')": "known_table",
    "drawing.save('out/a.png')": "writing_to",
    "import cv2\nc = cv2.VideoCapture(0)": "camera",
    "import cv2\ncv2.imshow('a', b)": "unshown",
    "try:\n    from urllib import urlretrieve\nexcept ImportError:\n    from urllib.request import urlretrieve\n"
    "urlretrieve('http://a/b.txt', 'b.txt')": "retrieved",
}


@pytest.mark.parametrize(("code", "function"), READERS.items())
def test_calls_that_read_from_elsewhere(code: str, function: str, tmp_path: Path) -> None:
    """Protects the network and the user's time: each is answered beside the program."""
    assert [one.function for one in read_elsewhere(model_of(code, tmp_path).file)] == [function]


def test_data_sets_whose_name_shows_when_it_runs(tmp_path: Path) -> None:
    """Protects loaders with a branch for each data set: only the one that is reached must be known."""
    load = (
        "import tensorflow_datasets as tfds\ndef load(name):\n    if name == 'x':\n        return tfds.load('duke')\n"
    )
    replaced = replaced_functions(model_of(f"{load}    return tfds.load(name)\n", tmp_path).file)
    assert [text for _, text in replaced] == ["tflint_values.catalogued"] * 2
    assert list(replaced_functions(model_of(load, tmp_path).file)) == []


def test_builders_of_known_data_sets(tmp_path: Path) -> None:
    """Protects programs that ask a builder for its information before they read; versions load nothing."""
    code = "import tensorflow_datasets as tfds\nb = tfds.builder('cifar10')\nv = tfds.core.Version('1.0.0')"
    replaced = replaced_functions(model_of(code, tmp_path).file)
    assert [text for _, text in replaced] == ["tflint_values.builder"]


@pytest.mark.parametrize(
    ("code", "has_amounts"),
    [
        ("n = env.action_space.shape[0]", True),
        ("top = env.action_space.high", True),
        ("n = env.action_space.n", False),
        ("n = env.action_space.n if is_discrete else env.action_space.shape[0]", False),
    ],
)
def test_actions_are_of_the_kind_that_the_code_asks_for(code: str, has_amounts: bool, tmp_path: Path) -> None:
    """Protects agents for made-up environments: numbers of any size have a shape, one of several has a count."""
    model = model_of(code, tmp_path)
    assert hints_of(model, [model.file]).has_amounts == has_amounts


def test_an_environment_is_not_filmed(tmp_path: Path) -> None:
    """Protects from what a later gym has no more, and from films that nobody looks at."""
    code = "import gym\ne = gym.wrappers.Monitor(gym.make('A'), 'films', force=True)"
    replaced = replaced_functions(model_of(code, tmp_path).file)
    assert [text for _, text in replaced] == ["tflint_environment.unrecorded"]


def test_an_address_for_what_another_file_reads(tmp_path: Path) -> None:
    """Protects programs that hand an address to a reader of their own: nothing is fetched for it."""
    (tmp_path / "reader.py").write_text("import pandas as pd\ndef rows(url):\n    return pd.read_csv(url)['a']\n")
    code = f"import tensorflow as tf\nfrom reader import rows\nmodel = ...\nx = rows('http://a.b/c.csv')\nfor y in x:{textwrap.indent(textwrap.dedent(STEP), '    ')}"
    text, _ = planned(code, tmp_path)
    assert "rows('http://a.b/c.csv')" in text


@pytest.mark.parametrize(
    "code",
    [
        "batch_size = 512",
        "BATCHSZ=512",
        "ds = ds.shuffle(9).batch(512)",
        "f(batch_size=512)",
        "flags.DEFINE_integer('core_batch_size', 512, 'rows')",
        "p.add_argument('--batch_size', type=int, default=512)",
    ],
)
def test_batches_that_must_be_filled(code: str, tmp_path: Path) -> None:
    """Protects programs that drop a batch which is not whole, and would get none."""
    model = model_of(code, tmp_path)
    assert hints_of(model, [model.file]).batch == 512


def test_the_ending_of_images_is_the_one_that_is_asked_for(tmp_path: Path) -> None:
    """Protects loops that pass over all other files, and would find none."""
    code = "a = [one for one in names if one.split('.')[1] == 'tif']\nb = 'x.tif'\nc = 'plot.png'"
    model = model_of(code, tmp_path)
    assert hints_of(model, [model.file]).ending == ".tif"


def test_fields_of_lines_that_are_taken_apart(tmp_path: Path) -> None:
    hints = hints_of(model := model_of("a, b, c = line.strip().split(';')", tmp_path), [model.file])
    assert {"tflint_files.SEPARATOR = ';'", "tflint_files.FIELDS = 3"} <= set(hints.settings())


def test_keys_of_lines_of_json(tmp_path: Path) -> None:
    """Protects lines that are objects of JSON; a whole file may have any form."""
    code = "import json\nfor line in file:\n    row = json.loads(line)\n    use(row['text'], row.get(\"id\"))\n"
    hints = hints_of(model := model_of(code, tmp_path), [model.file])
    assert "tflint_archives.KEYS = ('text', 'id')" in set(hints.settings())
    whole = model_of("import json\nrow = json.loads(file.read())\nuse(row['text'])", tmp_path)
    assert hints_of(whole, [whole.file]).keys == ()


def test_fields_of_all_lines_that_are_taken_apart(tmp_path: Path) -> None:
    """Protects texts of pairs, and their later rows."""
    code = "rows = [line.split('|') for line in text]\na, b = zip(*rows)\nc = a[20_000:]\n"
    model = model_of(code, tmp_path)
    hints = hints_of(model, [model.file])
    assert (hints.separator, hints.fields) == ("|", 2) and hints.lines > 20_000


def test_variables_of_the_process_are_no_columns(tmp_path: Path) -> None:
    """Protects tables from columns that nothing reads."""
    code = "import os\nos.environ['LOG_LEVEL'] = '2'\nage = table['age']\n"
    model = model_of(code, tmp_path)
    assert hints_of(model, [model.file]).columns == ("age",)


def test_fields_of_which_numbers_are_made(tmp_path: Path) -> None:
    """Protects labels among the fields of a line."""
    code = "for line in text:\n    kind, words, score = line.split('|')\n    rows.append((words, int(kind), float(score)))\n"
    hints = hints_of(model := model_of(code, tmp_path), [model.file])
    assert (hints.fields, hints.numbers) == (3, (0, 2))


PICKED = {
    "row = line.strip().split(',')\nx = row[0], float(row[2])": (",", 3, (2,)),
    "def read(line):\n    parts = tf.strings.split([line], sep=';').values\n    return parts[1], parts[2:]": (
        ";",
        2 + 4,
        (),
    ),
    "words = tf.string_split([line], '|').values\ny = tf.strings.to_number(words[1:], tf.float32)": (
        "|",
        5,
        (1, 2, 3, 4),
    ),
    "row = line.split(';')\nnumbers = list(map(int, row[1:]))\nname = table['name']": ("", 0, ()),
    "parts = path.split('/')\nname = parts[3]": ("", 0, ()),
    "row = line.split(',')\nuse(row[0])": ("", 0, ()),
    "words = line.split(' ')\nuse(words[0], words[1])": ("", 0, ()),
    "words = line.split(' ')\nuse(words[0], int(words[1]))": (" ", 2, (1,)),
}


@pytest.mark.parametrize(("code", "expected"), PICKED.items())
def test_fields_that_are_picked_one_by_one(
    code: str, expected: tuple[str, int, tuple[int, ...]], tmp_path: Path
) -> None:
    """Protects tables without names for their columns; parts of paths, and what has columns, are not such lines."""
    model = model_of(f"import tensorflow as tf\ntf.keras.layers.Dense(4)\n{code}\n", tmp_path)
    hints = hints_of(model, [model.file])
    assert (hints.separator, hints.fields, hints.numbers) == expected


@pytest.mark.parametrize(("sides", "is_any"), [("None, None, 3", True), ("None, 40", False), ("32, 32, 3", False)])
def test_images_of_any_size(sides: str, is_any: bool, tmp_path: Path) -> None:
    """Protects detectors and segmentations, which resize images to a size that their network does not name."""
    model = model_of(f"import tensorflow as tf\nx = tf.keras.Input(shape=({sides}))\n", tmp_path)
    hints = hints_of(model, [model.file])
    assert ("tflint_networks.HAS_ANY_SIZE = True" in hints.settings()) == is_any and None not in hints.inputs
    asking = model_of(f"import tensorflow as tf\nx = tf.keras.Input(({sides}))\nsize = net.input_shape[1:3]", tmp_path)
    assert not hints_of(asking, [asking.file]).has_any_size


def test_another_name_for_what_opens_files(tmp_path: Path) -> None:
    """Protects modules that put something of their own in the place of `open`, and read with the old one."""
    code = "plain = open\nclass open:\n    def __init__(self, path):\n        self.file = plain(path)\n"
    assert [around.function for around in read_elsewhere(model_of(code, tmp_path).file)] == ["reading"]


def test_what_reads_a_model_of_sentencepiece(tmp_path: Path) -> None:
    """Protects tokenizers of SentencePiece, whose methods have names that others have, too."""
    made = "import sentencepiece as s\np = s.SentencePieceProcessor()\np.load('a.model')\n"
    model = model_of(f"{made}q = s.SentencePieceProcessor(model_file='b.model')", tmp_path)
    assert [around.function for around in read_elsewhere(model.file)] == ["reading", "reading"]
    assert list(read_elsewhere(model_of("p.load('a.model')", tmp_path).file)) == []


def test_keys_of_what_a_network_is_made_with(tmp_path: Path) -> None:
    """Protects programs that make their model with what a JSON file says."""
    code = (
        "import json\nwith open('a.json') as f:\n    given = json.load(f)\nm = make(given['depth'], given.get('width'))"
    )
    hints = hints_of(model := model_of(code, tmp_path), [model.file])
    assert hints.sizes == ("depth", "width") and "tflint_archives.SIZES = ('depth', 'width')" in list(hints.settings())


def test_optional_arguments_need_no_stand_in(tmp_path: Path) -> None:
    flags = "from absl import app, flags\nflags.DEFINE_string('a', None, 'b')\napp.run(main)"
    assert list(read_elsewhere(model_of(flags, tmp_path).file)) == []
    code = "p.add_argument('--n', type=int, default=7)\np.add_argument('f', nargs='?')\na = p.parse_args()"
    assert list(read_elsewhere(model_of(code, tmp_path).file)) == []


OLD = {
    "import tensorflow as tf\no = tf.keras.optimizers.Adam(lr=0.1)": "lr=",
    "from keras.preprocessing.image import ImageDataGenerator": "keras.preprocessing.image.ImageDataGenerator",
    "from keras.utils import np_utils": "keras.utils.np_utils",
    "m.fit_generator(g)": "fit_generator()",
    "c.get_initial_state(batch_size=3, dtype=d)": "dtype=",
    "import keras\nl = keras.layers.LSTM(3, batch_input_shape=(1, 2, 3))": "batch_input_shape=",
    "import tensorflow as tf\nx = tf.losses.mean_squared_error(a, b)": "tf.losses.mean_squared_error",
    "import tensorflow as tf\nloss = tf.keras.losses.mean_squared_error": "tf.keras.losses.mean_squared_error",
    "import tensorflow.keras.metrics as m\nloss = m.log_cosh(a, b)": "m.log_cosh",
    "from tensorflow import keras\nloss = keras.losses.kl_divergence(a, b)": "keras.losses.kl_divergence",
    "from tensorflow.keras.losses import mean_absolute_error as mae": "keras.losses.mean_absolute_error",
}


@pytest.mark.parametrize(("code", "sign"), OLD.items())
def test_signs_of_keras_2(code: str, sign: str, tmp_path: Path) -> None:
    """Protects old code from an error of Keras 3 before anything was measured."""
    assert sign in [what for _, what in signs_of_keras_2(model_of(code, tmp_path).file)]


@pytest.mark.parametrize(
    "code",
    [
        "import keras\no = keras.optimizers.Adam(learning_rate=0.1)",
        "import keras\ne = keras.layers.Embedding(10, output_dim=3)",
        "from keras.preprocessing import image_dataset_from_directory",
        "from keras import losses\nloss = losses.mean_squared_error(a, b)",
    ],
)
def test_what_keras_3_has_too_is_no_sign(code: str, tmp_path: Path) -> None:
    assert list(signs_of_keras_2(model_of(code, tmp_path).file)) == []


def planned(code: str, folder: Path) -> tuple[str, tuple[str, ...]]:
    """The flagged program of the first finding that is no renamed name, and how it differs from the user's."""
    (folder / "train.py").write_text(textwrap.dedent(code))
    case = next(one for one in cases_of(folder / "train.py") if not one.diagnostic.code.startswith("TFG7"))
    assert case.pair is not None, case.reason
    return case.pair.before.files["train.py"], case.pair.remarks


STEP = """
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x, training=True))
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables))
"""


def test_a_training_function_that_nothing_calls_has_a_program(tmp_path: Path) -> None:
    code = f"import tensorflow as tf\ndef train(model, ds, optimizer, loss_fn, epochs):\n    for _ in range(epochs):\n        for x, y in ds:{STEP}"
    text, remarks = planned(code, tmp_path)
    assert text.rstrip().endswith("loss_fn=tflint_values.loss(), epochs=1)") and remarks[0].startswith(
        "synthetic: `model`"
    )


def test_a_pasted_snippet_has_a_program(tmp_path: Path) -> None:
    code = "import tensorflow as tf\nmodel = ...\nmodel.compile(loss='mse')\nmodel.fit(x_train, y_train, batch_size=1, epochs=5)\n"
    text, remarks = planned(code, tmp_path)
    assert "model = tflint_values.model()" in text and "x_train = tflint_values.inputs()" in text
    assert "tflint_values.LABELS = 'numbers'" in text and "`x_train`: rows of features" in remarks[0]


def test_old_code_runs_with_the_keras_it_was_written_for(tmp_path: Path) -> None:
    """Protects old code: the report names the place that only Keras 2 understands."""
    code = "import tensorflow as tf\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile(tf.keras.optimizers.SGD(lr=0.1), 'mse')\nmodel.fit(tf.ones((9, 1)), tf.ones((9, 1)), batch_size=1, epochs=5)\n"
    text, remarks = planned(code, tmp_path)
    assert text.startswith("import tflint_keras2\n") and remarks == (
        "run with Keras 2 (tf_keras) because of `lr=` in train.py:3:39",
    )


def test_names_that_numpy_has_no_more(tmp_path: Path) -> None:
    """Protects code for NumPy before 2.4: what it calls by its old name is done, and new calls stay what they are."""
    code = "import numpy as np\nrow = np.reshape(np.arange(6), newshape=(2, 3))\nother = np.reshape(row, (3, 2), order='F')\n"
    (line,) = old_names_of_numpy(model_of(code, tmp_path).file)
    stand_in = line.removeprefix("numpy.reshape = ")
    reshape = eval(stand_in, {"numpy": types.SimpleNamespace(reshape=lambda a, shape, **more: (a, shape, more))})
    assert reshape(7, newshape=(2, 3)) == (7, (2, 3), {}) and reshape(7, (3, 2), order="F") == (
        7,
        (3, 2),
        {"order": "F"},
    )
    assert list(old_names_of_numpy(model_of("import numpy as np\nnp.reshape(a, (2, 3))\n", tmp_path).file)) == []


def test_a_table_that_numpy_takes_apart(tmp_path: Path) -> None:
    """Protects tutorials for NumPy before 2, which gave tables back; arrays are taken apart as ever."""
    code = "import numpy as np\ntrain, test = np.split(table.sample(frac=1), [int(0.8 * len(table))])\n"
    (line,) = old_names_of_numpy(model_of(code, tmp_path).file)
    split = eval(line.removeprefix("numpy.split = "), {"numpy": types.SimpleNamespace(split=lambda *given: given)})

    class Table(list[int]):
        iloc = list(range(10))

    assert split(Table(range(10)), [6, 8]) == [[0, 1, 2, 3, 4, 5], [6, 7], [8, 9]]
    assert split([1, 2, 3], [2]) == ([1, 2, 3], [2], 0) and split(Table(range(4)), 2) == ([0, 1, 2, 3], 2, 0)
