"""No fix puts a step under `tf.function` that reads an object which changes later, by whatever means Python has."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks import findings
from fixed_programs import HEAD, of_few_steps, results

LIST, BOX, ARRAY = "shares = [1.0]", "box = types.SimpleNamespace(share=1.0)", "mask = np.ones(4, 'float32')"
FADE = "\n\n\ndef fade(them, *more):\n    them[0] *= 0.5\n    return them\n"
HELD = "\n\n\nclass Held:\n    share = 1.0\n\n    def close(self):\n        pass\n\n\nheld = Held()"
PAIR = f"Pair = collections.namedtuple('Pair', 'a b')\n{LIST}\npair = Pair(shares, 2)"
MATCH = "match {}:\n        case {}: share[0] *= 0.5"
ENTERED = "\n\n\n@contextlib.contextmanager\ndef entered():\n    yield shares\n"
ENTERING = "\n\n\nclass Entering:\n    def __enter__(self):\n        return shares\n\n    def __exit__(self, *why):\n        pass\n"
CHANGES = {  # what the program makes, what the step reads, what changes it
    "a method for a thread": (LIST, "shares[-1]", "t = threading.Thread(target=shares.append, args=(0.5 ** turn,)); t.start(); t.join()"),
    "a method for a function": (LIST, "shares[-1]", "list(map(shares.append, [0.5 ** turn]))"),
    "a method in a list": (f"{LIST}\nhooks = [shares.append]", "shares[-1]", "hooks[0](0.5 ** turn)"),
    "a partial method": (f"{LIST}\nput = functools.partial(shares.__setitem__, 0)", "shares[0]", "put(0.5 ** turn)"),
    "a partial function": (f"{ARRAY}\nput = functools.partial(np.copyto, mask)", "mask", "put(0.5 ** turn)"),
    "a function that a library runs": (LIST + FADE, "shares[0]", "functools.reduce(fade, [1], shares)"),
    "exec": (LIST, "shares[0]", "exec('shares[0] *= 0.5')"),
    "exec of a method": (LIST, "shares[-1]", "exec('shares.append(0.5 ** turn)')"),
    "exec in a function": (f"{LIST}\n\n\ndef fade():\n    exec('shares[0] *= 0.5')\n", "shares[0]", "fade()"),
    "exec of a global": ("share = 1.0\n\n\ndef fade():\n    exec('global share; share *= 0.5')\n", "share", "fade()"),
    "eval": (LIST, "shares[-1]", "eval('shares.append(0.5 ** turn)')"),
    "eval of what is computed": (LIST, "shares[-1]", "eval(f'shares.append({0.5 ** turn})')"),
    "globals": (LIST, "shares[0]", "globals()['shares'][0] *= 0.5"),
    "get of globals": (LIST, "shares[0]", "globals().get('shares')[0] *= 0.5"),
    "a name for globals": (LIST, "shares[0]", "same = globals()['shares']; same[0] *= 0.5"),
    "vars": (LIST, "shares[0]", "vars()['shares'][0] *= 0.5"),
    "vars of an object": ("box = types.SimpleNamespace(share=[1.0])", "box.share[0]", "vars(box)['share'][0] *= 0.5"),
    "__dict__": ("box = types.SimpleNamespace(share=[1.0])", "box.share[0]", "box.__dict__['share'][0] *= 0.5"),
    "attrgetter": (
        "box = types.SimpleNamespace(share=[1.0])",
        "box.share[0]",
        "operator.attrgetter('share')(box)[0] *= 0.5",
    ),
    "itemgetter": ("box = {'share': [1.0]}", "box['share'][0]", "operator.itemgetter('share')(box)[0] *= 0.5"),
    "match of a list": ("shares = [[1.0]]", "shares[0][0]", MATCH.format("shares", "[share]")),
    "match of a kind": (LIST, "shares[0]", MATCH.format("shares", "list() as share")),
    "match of anything": (LIST, "shares[0]", MATCH.format("shares", "share")),
    "match of a dictionary": ("box = {'a': [1.0]}", "box['a'][0]", MATCH.format("box", "{'a': share}")),
    "match of an attribute": (
        "box = types.SimpleNamespace(a=[1.0])",
        "box.a[0]",
        MATCH.format("box", "types.SimpleNamespace(a=share)"),
    ),
    "match of the others": ("box = [0, [1.0]]", "box[1][0]", MATCH.format("box", "[0, *share]").replace("[0] *", "[0][0] *")),
    "match of the name": ("share = 1.0", "share", "match 0.5 ** turn:\n        case share: pass"),
    "a context that gives it": (LIST, "shares[0]", "with contextlib.nullcontext(shares) as same: same[0] *= 0.5"),
    "a context that closes it": (HELD, "held.share", "with contextlib.closing(held) as same: same.share *= 0.5"),
    "a context of a generator": (LIST + ENTERED, "shares[0]", "with entered() as same: same[0] *= 0.5"),
    "a context of a class": (LIST + ENTERING, "shares[0]", "with Entering() as same: same[0] *= 0.5"),
    "with an attribute": (BOX, "box.share", "with contextlib.nullcontext(0.5 ** turn) as box.share: pass"),
    "for an attribute": (BOX, "box.share", "for box.share in [0.5 ** turn]: pass"),
    "del of an attribute": (f"{HELD}\nheld.share = 0.5", "held.share", "if turn == 2: del held.share"),
    "delattr": (f"{HELD}\nheld.share = 0.5", "held.share", "if turn == 2: delattr(held, 'share')"),
    "an attribute of the class": (HELD, "held.share", "type(held).share = 0.5 ** turn"),
    "another class": (
        f"{HELD}\n\n\nclass Half:\n    share = 0.5\n",
        "held.share",
        "if turn == 2: held.__class__ = Half",
    ),
    "other code": (
        "def share(): return 1.0\n\n\ndef half(): return 0.5\n",
        "share()",
        "if turn == 2: share.__code__ = half.__code__",
    ),
    "a named tuple": (PAIR, "shares[0]", "pair.a[0] *= 0.5"),
    "a part of a named tuple": (PAIR, "shares[0]", "same, _ = pair; same[0] *= 0.5"),
    "a named tuple that is read": (PAIR, "pair.a[0]", "shares[0] *= 0.5"),
    "a tuple": (f"{LIST}\nbox = (shares, 2)", "box[0][0]", "shares[0] *= 0.5"),
    "a dictionary": (f"{LIST}\nbox = dict(a=shares)", "box['a'][0]", "shares[0] *= 0.5"),
    "a function's arguments": (LIST + FADE.replace("them, ", "").replace("more", "them").replace("them[0] *=", "them[0][0] *="), "shares[0]", "fade(shares)"),
    "the second name of a queue": ("queue = collections.deque([1.0])\nsame = queue", "same[-1]", "queue.append(0.5 ** turn)"),
    "the second name of a list of its own class": (
        "class Own(list): pass\n\n\nown = Own([1.0])\nsame = own",
        "same[0]",
        "own[0] *= 0.5",
    ),
    "NumPy's third argument": (ARRAY, "mask", "np.multiply(mask, 0.9, mask)"),
    "NumPy's second argument": (ARRAY, "mask", "np.sin(mask, mask)"),
    "NumPy's fourth argument": (ARRAY, "mask", "np.cumsum(mask, 0, None, mask)"),
    "an argument of a method": (ARRAY, "mask", "mask.clip(0, 0.9 ** turn, mask)"),
    "an argument of a generator": (ARRAY, "mask", "np.random.default_rng(turn).random(4, 'float32', mask)"),
    "memory of an array": (f"{ARRAY}\nview = memoryview(mask)", "mask", "view[0] = 0.5 ** turn"),
    "a buffer": (
        "raw = bytearray(16)\nmask = np.frombuffer(raw, 'float32')",
        "mask",
        "raw[:] = np.full(4, 0.5 ** turn, 'float32').tobytes()",
    ),
}  # fmt: skip
OPTIMIZER = {  # what the program makes, how the step names the optimizer, and what changes it
    "a class that type makes": (
        "Kit = type('Kit', (), {'sgd': sgd})\nkit = Kit()",
        "kit.sgd",
        "kit.sgd.clipvalue = CLIP",
    ),
    "globals": ("pass", "sgd", "globals()['sgd'].clipvalue = CLIP"),
    "a context": ("pass", "sgd", "with contextlib.nullcontext(sgd) as same: same.clipvalue = CLIP"),
    "a reference": ("ref = weakref.ref(sgd)", "sgd", "ref().clipvalue = CLIP"),
    "a function's arguments": ("def same(*given): return given[0]", "sgd", "same(sgd).clipvalue = CLIP"),
}
WHILE = "\n\n\ndef fading():\n    while not done:\n        FADE\n        time.sleep(0.001)\n\n\n"
ANYTIME = {  # those that depend on the time, or on the module that Python runs
    "a thread": (LIST + "\ndone = False" + WHILE.replace("FADE", "shares[0] *= 0.99") + "threading.Thread(target=fading).start()", "shares[0]", "pass"),
    "a pool": (
        LIST + "\ndone = False" + WHILE.replace("FADE", "shares[0] *= 0.99")
        + "concurrent.futures.ThreadPoolExecutor().submit(fading)",
        "shares[0]",
        "pass",
    ),
    "an item of sys.modules": (LIST, "shares[0]", "sys.modules[__name__].shares[0] *= 0.5"),
    "an attribute of sys.modules": ("share = 1.0", "share", "sys.modules[__name__].share *= 0.5"),
    "a name for the module": ("share = 1.0\nme = sys.modules[__name__]", "share", "setattr(me, 'share', 0.5 ** turn)"),
    "__main__": ("import __main__\nshare = 1.0", "share", "__main__.share *= 0.5"),
    "the imported module": ("import importlib\nshare = 1.0\nme = importlib.import_module(__name__)", "share", "me.share *= 0.5"),
}  # fmt: skip
PROGRAM = """
import collections
import concurrent.futures
import contextlib
import functools
import operator
import sys
import threading
import time
import types
import weakref

pairs = tf.data.Dataset.from_tensor_slices((data, data[:, :1])).batch(8)
net = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
sgd = tf.keras.optimizers.SGD(0.05)
sgd.build(net.trainable_variables)
MADE


def update(features, wanted):
    with tf.GradientTape() as tape:
        miss = tf.reduce_mean(tf.square(net(features * READ, training=True) - wanted))
    free = net.trainable_variables
    sgd.apply_gradients(zip(tape.gradient(miss, free), free))


for turn in range(30):
    CHANGE
    for features, wanted in pairs:
        update(features, wanted)
result = net.get_weights()
"""


def _program(made: str, read: str, change: str) -> str:
    return HEAD + PROGRAM.replace("MADE", made).replace("READ", read).replace("CHANGE", change)


@pytest.mark.parametrize("case", [*CHANGES, *ANYTIME])
def test_what_changes_is_not_kept(case: str, tmp_path: Path) -> None:
    program = _program(*{**CHANGES, **ANYTIME}[case])
    told = [finding for rule, finding in findings(program, tmp_path) if rule.code == "TFG202"]
    assert [finding.fix for finding in told] == [None]


def _of_optimizer(made: str, read: str, change: str) -> str:
    program = _program(made, "1.0", change.replace("CLIP", "0.01 / (turn + 1)"))
    return program.replace("    sgd.apply", f"    {read}.apply")


@pytest.mark.parametrize("case", OPTIMIZER)
def test_an_optimizer_that_changes_is_not_kept(case: str, tmp_path: Path) -> None:
    told = [f for rule, f in findings(_of_optimizer(*OPTIMIZER[case]), tmp_path) if rule.code == "TFG202"]
    assert [finding.fix for finding in told] == [None]


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [*(_program(*case) for case in CHANGES.values()), *(_of_optimizer(*case) for case in OPTIMIZER.values())],
    ids=[*CHANGES, *(f"an optimizer, by {case}" for case in OPTIMIZER)],
)
def test_what_a_trace_would_keep(program: str) -> None:
    """The same programs by hand under `tf.function` compute something else."""
    np = pytest.importorskip("numpy")
    program = of_few_steps(program)
    (eager, _), (traced, _) = results(program), results(program.replace("def update", "@tf.function\ndef update"))
    assert not np.allclose(eager, traced)
