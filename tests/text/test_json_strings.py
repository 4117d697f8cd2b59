"""Texts in JSON are found and changed character by character, and nothing else of the document is touched."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tflint_gpu.text.decoding.json_strings import find_texts

LINES = ["x = 1\n", "é = '\\'\n", "\n", "y = \U0001f600"]


def changed(document: str, start: int, end: int, content: str, place: tuple[str | int, ...] = ("source",)) -> str:
    first, last, new = find_texts(document, ("source",))[place].change(start, end, content)
    return document[:first] + new + document[last:]


def written(lines: list[str] | str, **style: Any) -> str:
    return json.dumps({"a": ["source", {"source": 1}], "source": lines, "z": "ü"}, **style)


@pytest.mark.parametrize("style", [{}, {"indent": 1}, {"indent": 4, "ensure_ascii": False}, {"separators": (",", ":")}])
@pytest.mark.parametrize("lines", [LINES, "".join(LINES), LINES[:1], ["one\n", "two"], ""])
def test_offsets_point_at_the_characters(style: dict[str, Any], lines: list[str] | str) -> None:
    document = written(lines, **style)
    text = "".join(lines)
    found = find_texts(document, ("source",))[("source",)]
    assert [json.loads(f'"{document[start:end]}"') for start, end in found.characters] == list(text)


@given(
    st.lists(st.text('ab"\\\né\U0001f600\r\t', max_size=5), max_size=5),
    st.booleans(),
    st.sampled_from([{}, {"indent": 1}, {"ensure_ascii": False}, {"separators": (",", ":")}]),
    st.data(),
)
def test_a_change_gives_the_text_and_leaves_the_rest(
    lines: list[str], as_list: bool, style: dict[str, Any], data: st.DataObject
) -> None:
    """Protects users' notebooks: any change of any text, written in any style."""
    text = "".join(lines)
    lines = text.splitlines(keepends=True) if "\r" not in text else [f"{line}\n" for line in text.split("\n")]
    text = "".join(lines)
    if not text:
        return
    document = written(lines if as_list else text, **style)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    content = data.draw(st.text('xy\n"é', max_size=6))
    if start == end == len(text) == 0 or len(text) - (end - start) + len(content) == 0:
        return
    after = changed(document, start, end, content)
    value = json.loads(after)
    assert "".join(value["source"]) == text[:start] + content + text[end:]
    assert {**value, "source": 0} == {**json.loads(document), "source": 0}
    if as_list:
        assert value["source"] == "".join(value["source"]).splitlines(keepends=True) or "\r" in text
        assert [line for line in value["source"] if "\n" in line[:-1]] == []


def test_escapes_and_spacing_around_a_change_stay() -> None:
    document = '{ "source" : [ "a\\u00e9\\/b\\n" ,\r\n\t"c = np.abs(x)\\t# \\u2713" ] }'
    assert changed(document, 9, 15, "tf.abs") == document.replace("np.abs", "tf.abs")
    assert changed(document, 0, 0, "é") == document.replace('"a', '"\\u00e9a'), "as the document writes it"
    assert changed('{"source": "ü"}', 0, 0, "é") == '{"source": "éü"}'


def test_new_lines_are_strings_of_their_own() -> None:
    document = '[{"source": [\n  "a\\n",\n  "b"\n ]}]'
    place = (0, "source")
    assert changed(document, 2, 2, "x\ny\n", place) == '[{"source": [\n  "a\\n",\n  "x\\n",\n  "y\\n",\n  "b"\n ]}]'
    assert changed(document, 3, 3, "\nx", place) == '[{"source": [\n  "a\\n",\n  "b\\n",\n  "x"\n ]}]'
    assert changed(document, 0, 2, "", place) == '[{"source": [\n  "b"\n ]}]'
    assert changed(document, 2, 3, "", place) == '[{"source": [\n  "a\\n"\n ]}]'
    assert changed('{"source": [\n "a"\n]}', 1, 1, "\nb") == '{"source": [\n "a\\n",\n "b"\n]}'
    assert changed('{"source": ["a"]}', 0, 0, "b\n") == '{"source": ["b\\n","a"]}'


def test_places_lead_through_everything() -> None:
    document = json.dumps(
        {"": {"source": "a"}, "x": [[], {}, [1, {"source": ["b", "c"]}], True], "source": {"source": "d"}}
    )
    found = find_texts(document, ("source",))
    assert {place: text.document[text.offset(0)] for place, text in found.items()} == {
        ("", "source"): "a",
        ("x", 2, 1, "source"): "b",
        ("source", "source"): "d",
    }
