"""What is left of a file when only the way to one place is wanted: enough to run, and nothing that takes hours."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tflint_gpu.verify.slicing.effects import Effects
from tflint_gpu.verify.slicing.slices import Way, slice_file

PLACE = "# place"


def sliced(code: str, *exported: str, forward: bool = False) -> str:
    """What stays of a program whose places end with `# place`."""
    text = textwrap.dedent(code).lstrip("\n")
    lines = text.splitlines()
    ways = [Way(row, forward) for row, line in enumerate(lines, start=1) if line.endswith(PLACE)]
    dropped = slice_file(ast.parse(text), ways, exported)
    left = "\n".join(line for row, line in enumerate(lines, start=1) if row not in dropped and line.strip())
    ast.parse(left)
    return left


def stays(code: str, *lines: str, exported: Sequence[str] = (), forward: bool = False) -> None:
    """Assert that just these lines stay, in this order."""
    assert [line.strip() for line in sliced(code, *exported, forward=forward).splitlines()] == list(lines)


def test_only_what_the_place_needs_stays() -> None:
    """Protects the core: definitions, imports and constants that the place does not read go, and so does what follows."""
    stays(
        """
        import os, sys
        import json
        from a import b, c
        N = 3
        UNUSED = b(N)
        def double(x): return x * N
        def unused(): return json.dumps({})
        value = double(2)
        use(value)  # place
        value = 4
        """,
        "N = 3",
        "def double(x): return x * N",
        "value = double(2)",
        "use(value)  # place",
    )


KEPT = {
    "an environment variable": "import os\nos.environ['TF_X'] = '1'\nuse()  # place",
    "seeds": "import tensorflow as tf\ntf.random.set_seed(1)\nuse()  # place",
    "settings of the runtime": (
        "import tensorflow as tf\n"
        "for gpu in tf.config.list_physical_devices('GPU'):\n"
        "    tf.config.experimental.set_memory_growth(gpu, True)\n"
        "use()  # place"
    ),
    "the path of imports": "import sys\nsys.path.append('lib')\nuse()  # place",
    "the future": "from __future__ import annotations\nuse()  # place",
    "star imports": "from a import *\nuse()  # place",
    "a model's compile and layers": "m = M()\nm.add(L())\nm.compile(loss='mse')\nuse(m)  # place",
    "a list that grows": "xs = []\nxs.append(1)\nfor i in range(3):\n    xs.append(i)\nuse(xs)  # place",
    "a dictionary that changes": "d = {}\nd['a'] = 1\nd.update(b=2)\nd['c'] += 1\nuse(d)  # place",
    "attributes that are set": "o = O()\no.x = 1\no.y.z = 2\nuse(o)  # place",
    "a function that gets the object": "o = O()\nprepare(o)\nsetup(conf=o)\nuse(o)  # place",
    "a part that is changed": "m = M()\nfor i, layer in enumerate(m.layers):\n    layer.trainable = False\nuse(m)  # place",
    "a part with a name": "m = M()\nlast = m.get_layer('x')\nlast.trainable = False\nuse(m)  # place",
    "a first call that builds": "m = M()\nm(zeros())\n_ = m(zeros())\nuse(m)  # place",
    "what is taken out": "xs = [1, 2]\nfirst = xs.pop()\nuse(xs)  # place",
    "a function that sets a global": (
        "def setup():\n    global model\n    model = M()\ndef start(): setup()\nstart()\nuse(model)  # place"
    ),
    "a function defined twice": (
        "def setup():\n    global n\n    n = 1\nsetup()\ndef setup():\n    global m\n    m = 2\nsetup()\nuse(n, m)  # place"
    ),
    "a function that fills a global": "xs = []\ndef fill():\n    xs.append(1)\nfill()\nuse(xs)  # place",
    "a function that changes its argument": "o = O()\ndef freeze(m):\n    for l in m.layers:\n        l.x = 1\nfreeze(o)\nuse(o)  # place",
    "files that are read later": (
        "p = path()\nimport numpy as np, os\nos.makedirs(p)\nnp.save(p, 1)\nwith open(p, 'w') as f:\n    f.write('a')\n"
        "def fill(q): q.joinpath('a').write_text('a')\nfill(p)\nuse(p)  # place"
    ),
    "a setting of a library": "import numpy as np\nnp.set_printoptions(3)\nuse(np)  # place",
    "imports that may fail": "try:\n    import a\nexcept ImportError:\n    a = None\nuse(a)  # place",
    "names of a match": "match p:\n    case [x, *_]: pass\nuse(x)  # place",
    "names of a with": "with open(p) as a, open(q) as b:\n    c = a.read()\nuse(b, c)  # place",
    "names of `:=`": "if (n := f()) > 2: pass\nok = [m := 1 for _ in r]\nuse(n, m)  # place",
    "statements on one row": "a = 1; b = 2; print(b)\nuse(a)  # place",
    "a row shared with a longer statement": "a = 1; b = [\n    2,\n]\nuse(a)  # place",
    "annotations": "from typing import Any, List\ndef f(x: List[int]) -> Any: return x\nuse(f)  # place",
    "decorators": "import functools\n@functools.cache\ndef f(): return 1\nuse(f)  # place",
    "a name of a class body that a method takes from the module": (
        "n = 1\nclass A:\n    n = 2\n    def f(self): return n\nuse(A)  # place"
    ),
    "strings of several rows": 'text = """\na\n\tb\n"""\nuse(text)  # place',
    "the other branch": "n = 1\nif f():\n    g(n)\nelse:\n    use()  # place",
    "a scaler that learns from the data": "scaler = Scaler()\nscaler.fit(x)\nuse(scaler.transform(x))  # place",
    "what a scaler has learned": "scaler = Scaler()\nscaler.fit(x)\nmean = scaler.mean_\nuse(mean)  # place",
    "an object that makes its model where it loads the weights": "s = Sampler()\ns.load_weights()\nuse(s)  # place",
    "the arguments of a program": (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', default=1)\nargs = p.parse_args()\n"
        "use(args.n)  # place"
    ),
}


TRAINED = "m = Net()\ndef learn(n): n.fit(x)\nm.fit(x)\nlearn(m)\nm.summary()\nuse(m)  # place"


@pytest.mark.parametrize("trains", [True, False])
def test_what_learns_stays_where_it_is_needed(trains: bool) -> None:
    """Protects models that only their training builds; most are as fast without it, and it goes."""
    tree = ast.parse(TRAINED)
    dropped = slice_file(tree, [Way(6)], set(), (), Effects(tree, trains=trains))
    assert ({3, 4} & dropped == set()) == trains and 5 in dropped


@pytest.mark.parametrize("code", KEPT.values(), ids=KEPT.keys())
def test_what_must_stay(code: str) -> None:
    """Protects programs from NameErrors and from measuring something else than what the user runs."""
    assert sliced(code).splitlines() == [line for line in code.splitlines() if line.strip()]


GOES = {
    "prints": "print(x)",
    "plots": "import matplotlib.pyplot as plt\nplt.figure(figsize=(x, x))\nplt.title(x)\nplt.show()",
    "saves and checkpoints": "x.save('a')\nx.load_weights('w').expect_partial()\nx.save_weights('b')",
    "training on the way": "x.fit(y, epochs=100)\nhistory = x.fit(y)",
    "a function that trains": (
        "def train(m):\n    for y in m:\n        opt.apply_gradients(y)\ndef main(m): train(m)\nmain(x)\nfound = main(x)"
    ),
    "loops that only count": "for step in range(10**9):\n    loss = x + step\n    print(loss)",
    "downloads": "import urllib.request\nurllib.request.urlretrieve(x, 'a')",
    "other programs": "import os, subprocess\nsubprocess.check_call(['x', x])\nos.remove(x)\nos.chdir(x)",
    "assertions": "assert x",
    "logs": "import logging\nlogging.basicConfig(level=x)\nlog = logging.getLogger()\nlog.info(x)",
    "functions that look at their arguments": "def look(a): print(a.shape)\ndef both(a): look(a)\nlook(x)\nboth(x)",
    "functions that plot": "import matplotlib.pyplot as plt\ndef plot(a):\n    plt.plot(a, f(a))\nplot(x)",
    "functions with decorators": "import functools\n@functools.cache\n@a(\n    1\n)\ndef unused():\n    return x",
    "a definition whose body would change": "def unused(): x.append(1)",
    "deleting": "del x",
    "a docstring in the middle": '"""\nHeading\n"""',
}


@pytest.mark.parametrize("code", GOES.values(), ids=GOES.keys())
def test_what_must_go(code: str) -> None:
    """Protects the user's disk, network and time."""
    assert sliced(f"x = f()\n{code}\nuse(x)  # place") == "x = f()\nuse(x)  # place"


def test_place_in_the_main_block() -> None:
    """Protects scripts: what comes after the place in its blocks goes, what stands around it stays."""
    stays(
        """
        import a, b
        if __name__ == "__main__":
            n = a.n()
            m = b.m()
            for epoch in range(n):
                x = f(epoch)
                for step in x:  # place
                    g(step)
                evaluate(x)
            save()
        """,
        "import a, b",
        'if __name__ == "__main__":',
        "n = a.n()",
        "for epoch in range(n):",
        "x = f(epoch)",
        "for step in x:  # place",
        "g(step)",
    )


def test_place_in_a_function() -> None:
    """Protects functions: they are cut like the file, and the file by what is left of them."""
    stays(
        """
        import a
        import b
        def run(ds, path):
            model = a.M()
            writer = b.W(path)
            for x in ds:  # place
                model(x)
            writer.close()
            return model
        run(data, "p")
        """,
        "import a",
        "def run(ds, path):",
        "model = a.M()",
        "for x in ds:  # place",
        "model(x)",
        exported=("run",),
    )


def test_way_from_the_module_into_a_function() -> None:
    stays(
        """
        import a
        def main():
            n = a.n()
            helper(n)  # place
            done(n)
        unused = 1
        if __name__ == "__main__":
            print("start")
            main()  # place
            print("end")
        """,
        "import a",
        "def main():",
        "n = a.n()",
        "helper(n)  # place",
        'if __name__ == "__main__":',
        "main()  # place",
    )


def test_two_places_in_one_function() -> None:
    """Protects recursion and nested functions: no place is cut off by the way to another."""
    left = sliced(
        """
        def f(n):
            a = n
            b = n
            if a:
                f(a)  # place
            use(b)  # place
            c = 1
        f(3)  # place
        """
    )
    assert "f(a)" in left and "use(b)" in left and "b = n" in left and "c = 1" not in left


def test_nested_function_and_method() -> None:
    left = sliced(
        """
        class A(Base):
            def __init__(self, n):
                super().__init__()
                self.n = n
                self.log = n
            def run(self):
                k = self.n
                def inner(x):
                    y = x
                    z = x
                    return y + k  # place
                return inner(k)
        """,
        "A",
    )
    assert "z = x" not in left and "k = self.n" in left and "self.log = n" in left and "class A(Base)" in left


def test_what_uses_a_made_object_is_wanted_too() -> None:
    """Protects objects whose method is the place: making them alone does not run it."""
    stays(
        """
        layer = Layer()  # place
        other = Other()
        model = Model([layer])
        model.compile("sgd")
        xs = data()
        model.fit(xs)
        print("done")
        """,
        "layer = Layer()  # place",
        "model = Model([layer])",
        'model.compile("sgd")',
        "xs = data()",
        "model.fit(xs)",
        forward=True,
    )


def test_condition_in_a_loop_may_be_false_at_first() -> None:
    """Protects loops that come to the place in a later iteration: what the iterations before it need stays."""
    left = sliced(
        """
        best = None
        for epoch in range(10):
            if epoch % 5 == 4:
                use(best)  # place
                save(best)
            best = step(epoch)
            print(best)
        """
    )
    assert "best = step(epoch)" in left and "save(best)" not in left and "print" not in left


def test_exported_names() -> None:
    """Protects imported files: only what is taken from them stays."""
    assert (
        sliced("import a, b\nX = a.x\nY = b.y\ndef f(): return X\n", "f") == "import a, b\nX = a.x\ndef f(): return X"
    )


def test_compound_statement_is_left_parsable() -> None:
    """Protects one-line suites, comments and decorators around what goes."""
    left = sliced(
        """
        if a: b = 1; c = 2
        else: b = 3
        # about d
        @deco
        # in between
        def d(): pass
        class E: x = 1
        use(b)  # place
        """
    )
    assert "c = 2" in left and "deco" not in left and "class E" not in left


names = st.sampled_from("abce")
statements = st.one_of(
    st.builds("{} = {} + {}".format, names, names, st.integers(0, 9)),
    st.builds("{} += {}".format, names, names),
    st.builds("if {} % 2: {} = {}\nelse: {} += 1".format, names, names, names, names),
    st.builds("for i in range(3): {} = {} + i".format, names, names),
    st.builds("while {0} % 7: {0} += 1".format, names),
    st.builds("xs.append({})".format, names),
    st.builds("{} = sum(xs)".format, names),
    st.builds("ys = xs\nys.append({})".format, names),
    st.builds("d['k'] = {}".format, names),
    st.builds("{} = d['k']".format, names),
    st.builds("def f(x): return x + {}".format, names),
    st.builds("{} = f({})".format, names, names),
    st.builds("def g():\n    global {0}\n    {0} = {1} + 1".format, names, names),
    st.just("g()"),
    st.builds("{} = [{} for {} in xs][-1]".format, names, names, names),
    st.builds("if ({} := {}) > 3: xs.append(1)".format, names, names),
    st.builds("print({})".format, names),
    st.builds("try: {} = 1 // ({} % 2)\nexcept ZeroDivisionError: {} = 5".format, names, names, names),
)
START = "import json\na, b, c, e = 1, 2, 3, 4\nd, xs, ys = {'k': 1}, [1], []\ndef f(x): return x\ndef g(): pass"


@pytest.mark.slow
@settings(max_examples=300, derandomize=True)
@given(program=st.lists(statements, max_size=12), wanted=names)
def test_slice_computes_what_the_whole_program_computes(program: list[str], wanted: str) -> None:
    """Protects the contract of a slice: what the place sees is the same as in the whole program."""
    code = "\n".join([START, *program, f"found = {wanted}, list(xs)  # place"])
    assert run(sliced(code)) == run(code)


def run(code: str) -> object:
    scope: dict[str, object] = {"print": lambda *args: None}
    exec(compile(code, "program.py", "exec"), scope)
    return scope["found"]


def test_values_that_are_replaced_unread_go() -> None:
    """Protects notebooks: the models of earlier cells, and the downloads that they need, are not made for a later one."""
    stays(
        """
        import tensorflow_hub as hub
        size = 3
        net = hub.KerasLayer("https://a/b")
        net.compile("adam")
        size = 4
        net = make(size)
        net.compile("sgd")
        def search(x):
            return net.predict(x)
        search(size)  # place
        """,
        "size = 4",
        "net = make(size)",
        'net.compile("sgd")',
        "def search(x):",
        "return net.predict(x)",
        "search(size)  # place",
    )


READ_BEFORE = {
    "by a function that runs in between": "a = 1\ndef f():\n    return a\nb = f()\na = 2\nuse(a, b)  # place",
    "by a lambda that was handed on": "a = 1\nb = [lambda: a]\na = 2\nuse(a, b)  # place",
    "by what replaces it": "a = 1\na = a + 1\nuse(a)  # place",
    "by what was made of it": "a = []\nb = a\na = []\nb.append(1)\nuse(a, b)  # place",
    "where the other may not come": "a = 1\nif f():\n    a = 2\nuse(a)  # place",
    "by a function that is defined before what it calls": "def g():\n    return h()\ndef h():\n    return 1\nuse(g())  # place",
    "by what it made ready": "a = make()\nb = a.reset()\nb = a.play()\nuse(b)  # place",
    "by a method": "a = 1\nclass C:\n    def f(self):\n        return a\nb = C()\nb.f()\na = 2\nuse(a, b)  # place",
}


@pytest.mark.parametrize("code", READ_BEFORE.values(), ids=READ_BEFORE)
def test_values_that_are_read_before_they_are_replaced_stay(code: str) -> None:
    """Protects programs from names without a value, or with a later one than they had."""
    stays(code, *(line.strip() for line in code.splitlines()))


def test_what_only_draws_from_its_own_seed_goes() -> None:
    """Protects the user's time: a function that shows an episode sets a seed, which nothing else needs."""
    stays(
        """
        import numpy as np
        def show(): np.random.seed(1)
        show()
        np.random.seed(2)
        use(np)  # place
        """,
        "import numpy as np",
        "np.random.seed(2)",
        "use(np)  # place",
    )


def test_a_network_that_is_told_to_train_is() -> None:
    """Protects networks with a mode, as TensorLayer's; what trains for hours goes as before."""
    stays("net = N()\nnet.train()\nuse(net(1))  # place", "net = N()", "net.train()", "use(net(1))  # place")
    stays("agent = A()\nagent.train()\nuse(agent)  # place", "agent = A()", "use(agent)  # place")
