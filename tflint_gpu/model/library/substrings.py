"""Tests of a file's bytes, before it is parsed, where words alone say too little.

Each function is a rule's required substring, and true of every file in which what it asks for can be.
"""

from __future__ import annotations

from tflint_gpu.lazy_patterns import regex

TRACED = (
    b"def call(",
    b"def __call__(",
    b"_step(self",
    b"def update_state(",
    b"def compute_loss(",
    b"tf.function",
    b"tf2.function",
    b"tensorflow.function",
    b".function(",
    b".function\n",
    b".function\r",
    b"import function",
    b"Lambda(",
)
CONCATENATIONS = (b"concat(", b"concatenate(", b"np.append(", b"numpy.append(", b"vstack(", b"hstack(")
"""A file with none of them grows no tensor."""
# What `compile` is given that is no function of the project: a text, or what Keras itself has.
_ITEM = (
    rb"(?:\"[^\"\n]*\"|'[^'\n]*'|(?:tf\.)?keras\.(?:losses|metrics)\.\w+(?:\([^()]*\))?)"
    rb"(?=\s*[,)\]]|\s*#|\s*\Z)"
)
_NAMED = regex(rb"\b(loss|(?:weighted_)?metrics)[ \t]*=[ \t]*(?:\[\s*(?:" + _ITEM + rb"\s*,?\s*)*\]|" + _ITEM + rb")?")
_LOSS = regex(rb"\bloss[ \t]*=")
_UNDER_KEY = regex(rb"""["'](?:loss|(?:weighted_)?metrics)["'][ \t]*:""")
_EQUALS = regex(rb"(?<![=!<>])=(?!=)")
_BRACKET = regex(rb"[()\[\]{}]")
_RANDOM = regex(rb"(?<!\w)random\Z")
_WORD = regex(rb"\w+")
_PAIRS = ((b"(", b")"), (b"[", b"]"))
_LEAVES = regex(rb"\s*(?:return|yield)\b")
_LAST_WORD = regex(rb"\w+\Z")
_KEYWORDS = frozenset(b"if else and or not in is lambda await yield return".split())
_BEFORE, _BEHIND = 1000, 3000


def gives_a_function(data: bytes) -> bool:
    """Whether something that Keras is given as a loss or metric may be a function of the file."""
    if b"compile(" in data and b"**" in data and _UNDER_KEY.search(data) is not None:
        return True
    if b"loss=" not in data and b"metrics=" not in data:
        return False
    for match in _NAMED.finditer(data):
        if match[0].rstrip().endswith(b"="):
            return True
        if match[1] != b"loss" and not _loss_is_named(data, match.start()):
            return True
    return False


def _loss_is_named(data: bytes, position: int) -> bool:
    """Whether the call around an argument gives the loss by its name, and before that argument."""
    start = data.rfind(b"compile(", 0, position)
    return start >= 0 and _LOSS.search(data, start, position) is not None


def may_grow(data: bytes) -> bool:
    """Whether a concatenation may be assigned to something that it joins: `x = tf.concat([x, y], 0)`."""
    for substring in CONCATENATIONS:
        at = data.find(substring)
        while at >= 0:
            after = at + len(substring)
            if not _assigned(data, at).isdisjoint(_WORD.findall(_arguments(data, after))):
                return True
            at = data.find(substring, after)
    return False


def _assigned(data: bytes, position: int) -> set[bytes]:
    """The words in what a statement assigns to: on the line of a place in it, or above, where the line has none."""
    start = data.rfind(b"\n", 0, position) + 1
    if _is_argument(data[start:position]):
        return set()
    targets = _targets(data[start:position])
    if targets:
        return set(_WORD.findall(targets))
    above = data[max(0, start - _BEFORE) : start].split(b"\n")
    return {word for line in above for word in _WORD.findall(_targets(line))}


def _targets(line: bytes) -> bytes:
    """What is on a line before the last `=` that is in no brackets."""
    for match in reversed(list(_EQUALS.finditer(line))):
        targets = line[: match.start()]
        if all(targets.count(opening) <= targets.count(closing) for opening, closing in _PAIRS):
            return targets
    return b""


def _is_argument(line: bytes) -> bool:
    """Whether what follows on a line must be returned, or an argument of a call that begins there."""
    if _LEAVES.match(line) is not None:
        return True
    if b"'" in line or b'"' in line:
        return False
    opened: list[int] = []
    for match in _BRACKET.finditer(line):
        if match[0] in b"([{":
            opened.append(match.start())
        elif opened:
            opened.pop()
    return any((word := _LAST_WORD.search(line[:at])) is not None and word[0] not in _KEYWORDS for at in opened)


def _arguments(data: bytes, start: int) -> bytes:
    """The arguments of a call, or more than them."""
    depth = 1
    window = data[start : start + _BEHIND]
    for match in _BRACKET.finditer(window):
        depth += 1 if match[0] in b"([{" else -1
        if not depth:
            arguments = window[: match.start()]
            return window if b"'" in arguments or b'"' in arguments or b"#" in arguments else arguments
    return window


def shuffles(data: bytes) -> bool:
    """Whether something other than Python's or NumPy's `random` may be shuffled."""
    at = data.find(b".shuffle")
    while at >= 0:
        if _RANDOM.search(data[max(0, at - 8) : at]) is None:
            return True
        at = data.find(b".shuffle", at + 1)
    return False
