"""Texts to plain data: structure, anchors, documents, and everything that is refused."""

from __future__ import annotations

import itertools
import json
import re
import string
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from podsync.manifest import events
from podsync.manifest.events import MAX_DEPTH
from podsync.manifest.reader import Reading, Unreadable, read


@pytest.fixture(params=["C", "python"])
def _parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both of PyYAML's parsers: libyaml may be absent."""
    monkeypatch.setattr(events, "_LOADER", {"C": yaml.CSafeLoader, "python": yaml.SafeLoader}[request.param])


pytestmark = pytest.mark.usefixtures("_parser")


def values(text: str) -> list[Any]:
    """The documents of a text that must be good."""
    reading = read(text)
    assert reading.problems == []
    return [document.value for document in reading.documents]


def problem(text: str) -> Unreadable:
    """The one problem of a text that must be bad."""
    reading = read(text)
    assert reading.documents == []
    (found,) = reading.problems
    return found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\nb: [x, 'y', \"z\", y]\n", {"a": 1, "b": ["x", "y", "z", True]}),
        ("'yes': 'on'\n\"1\": \"2\"\n", {"yes": "on", "1": "2"}),
        ("yes: 1\n1: a\n1.5: b\n0x10: c\n", {"true": 1, "1": "a", "1.5": "b", "16": "c"}),
        ("a:\nb: ~\nc: ''\n", {"a": None, "b": None, "c": ""}),
        ("- a\n- - b\n  - c\n- {d: e}\n", ["a", ["b", "c"], {"d": "e"}]),
        ("a: |\n  x: 1\n  y\nb: >-\n  p\n  q\n", {"a": "x: 1\ny\n", "b": "p q"}),
        ("? a\n: b\n", {"a": "b"}),
        ("!!set {a, b}", {"a": None, "b": None}),
        ("a: !foo bar\nb: !foo {c: !bar [1]}\nc: !!str 5\n", {"a": "bar", "b": {"c": [1]}, "c": "5"}),
        ("!foo d: 1\n", {"d": 1}),
        ("a: ! 12\nb: !!binary aGk=\n", {"a": 12, "b": "hi"}),
        ("url: http://x:80/\ntime: 22:22\ndate: 2001-12-14\neq: =\n",
         {"url": "http://x:80/", "time": "22:22", "date": "2001-12-14", "eq": "="}),
        ("%YAML 1.1\n---\na: b\n...\n", {"a": "b"}),
        ("\u00e9: \U0001f600 \u4e2d\n", {"\u00e9": "\U0001f600 \u4e2d"}),
        ("a: b\r\nc: d\r\n", {"a": "b", "c": "d"}),
    ],
)  # fmt: skip
def test_values(text: str, value: Any) -> None:
    """One document of each shape becomes the data that JSON would hold."""
    assert values(text) == [value]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: &x [1, 2]\nb: *x\n", {"a": [1, 2], "b": [1, 2]}),
        ("a: &x y\nb: *x\nc: '*x'\n", {"a": True, "b": True, "c": "*x"}),
        ("&k a: 1\nb: *k\n*k : 2\n", {"a": 2, "b": "a"}),
        ("a: &x 1\nb: &x 2\nc: *x\n", {"a": 1, "b": 2, "c": 2}),
        ("b: &b {x: 1, z: 2}\nm: {<<: *b, z: 3}\n", {"b": {"x": 1, "z": 2}, "m": {"x": 1, "z": 3}}),
        ("m: {z: 3, <<: {x: 1, z: 2}}\n", {"m": {"z": 2, "x": 1}}),
        ("m:\n  <<: [{x: 1}, {x: 2, z: 2}]\n", {"m": {"x": 1, "z": 2}}),
        ("m: {'<<': 1}\n", {"m": {"<<": 1}}),
        ("m: {!!merge <<: {x: 1}}\n", {"m": {"x": 1}}),
        ("b: &b {x: 1}\nm: {<<: [*b, {z: 1}]}\n", {"b": {"x": 1}, "m": {"x": 1, "z": 1}}),
    ],
)
def test_anchors_and_merges(text: str, value: Any) -> None:
    """Aliases stand for what they name, and merges override what is above and yield to what is below."""
    assert values(text) == [value]


def test_documents_are_counted() -> None:
    """Empty documents are left out but counted, and anchors end with their document."""
    reading = read("# only a comment\n---\na: 1\n---\n---\n~\n--- b\n---\nc: *a\n...\n---\nd: 1\n")
    assert [(document.index, document.value) for document in reading.documents] == [
        (1, {"a": 1}),
        (4, "b"),
        (6, {"d": 1}),
    ]
    assert [(lost.document, lost.line) for lost in reading.problems] == [(5, 9)]


@pytest.mark.parametrize("text", ["", " \n\n", "# a\n# b\n", "---\n", "---\n---\n# x\n---\n", "null\n"])
def test_nothing(text: str) -> None:
    """A text of blanks, comments and separators has no documents and no problem."""
    assert read(text) == Reading()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: [1\n", 2, "not valid YAML"),
        ("a: b: c\n", 1, "mapping values are not allowed"),
        ("a:\n  - b\n c: d\n", 3, "not valid YAML"),
        ("a: 1\n\tb: 2\n", 2, "tab|cannot start any token"),
        ("a: 'x\n", 2, "quoted scalar"),
        ("a: @x\n", 1, "cannot start any token"),
        ("a: *nope\n", 1, "unknown anchor|undefined alias"),
        ("a: 1\nb: &b [*b]\n", 2, "holds itself"),
        ("a: 1\nb: &b\n  c: *b\n", 3, "holds itself"),
        ("a: 1\nb: .inf\n", 2, "finite"),
        ("a: 1\n~: x\n", 2, "key"),
        ("a: 1\n: x\n", 2, "key|block mapping"),
        ("a: 1\n[b]: x\n", 2, "key"),
        ("? {b: c}\n: x\n", 1, "key"),
        ("a: &a [1]\n*a : 2\n", 2, "key"),
        (".nan: x\n", 1, "finite"),
        ("<<: 1\n", 1, "merge"),
        ("a: 1\n<<: [{}, 1]\n", 2, "merge"),
        ("a: &l [{}]\nb:\n  <<: *l\n", 3, "merge"),
        ("a: !!int x\n", 1, "!!int"),
        ("a: !!binary '@'\n", 1, "base64"),
        ("a: 1\nb: x\x00y\n", 2, r"U\+0000"),
        ("a: 1\n\nb: \x07\n", 3, r"U\+0007"),
        ("a: \ud800\n", 1, r"U\+D800"),
        ("a: \ufffe\n", 1, r"U\+FFFE"),
        ("%YAML 3.0\n---\na: 1\n", 1, "incompatible YAML document"),
    ],
)
def test_problems(text: str, line: int, words: str) -> None:
    """Each way of being no YAML is one problem with its line and a reason."""
    reading = read(text)
    lost = reading.problems[0]
    assert (lost.document, lost.line) == (1, line)
    assert re.search(words, lost.message)


def test_reading_goes_on_after_a_problem() -> None:
    """A document that is no YAML does not hide those before and after it, nor their lines."""
    reading = read('a: 1\n---\nb: @\nx: y\n---\nc: "é"\n---\nd: *d\n---\ne: 1\n')
    assert [(document.index, document.value) for document in reading.documents] == [
        (1, {"a": 1}),
        (3, {"c": "é"}),
        (5, {"e": 1}),
    ]
    assert [(lost.document, lost.line) for lost in reading.problems] == [(2, 3), (4, 8)]


def test_problems_are_bounded() -> None:
    """A text of nothing but mistakes is given up after some of them."""
    assert len(read("--- @\n" * 5000).problems) < 50


@pytest.mark.parametrize("open_", ["[", "- ", "{a: ", "? ", "!!seq [", "&a [", '{"a":', '[{"a":'])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 5000])
def test_deep_nesting(open_: str, depth: int) -> None:
    """Nesting without end is refused in every style and exhausts no stack."""
    assert read(open_ * depth).documents == []


def test_deep_nesting_that_is_closed() -> None:
    """The limit counts levels: one less is read, one more is not, in YAML and in JSON."""
    for form in ("x: {}", '{{"x": {}}}'):
        good, bad = ("[" * depth + "]" * depth for depth in (MAX_DEPTH - 1, MAX_DEPTH))
        assert values(form.format(good))
        assert "nested deeper" in problem(form.format(bad)).message


def test_deep_nesting_by_aliases() -> None:
    """A chain of anchors that is flat in the text and deep in the data is refused too."""
    chain = "a0: &a0 []\n" + "".join(
        f"a{n}: &a{n} [[[[[[[[[[*a{n - 1}]]]]]]]]]]\n" for n in range(1, MAX_DEPTH // 10 + 1)
    )
    assert "nested deeper" in problem(chain).message


def tower(first: str, one: str, around: str) -> str:
    """Ten levels of anchors, each of which names the one below nine times."""
    lines = [f"a: &a {first}\n"]
    for below, name in itertools.pairwise(string.ascii_lowercase[:10]):
        lines.append(f"{name}: &{name} {around.format(', '.join(one.format(n, below) for n in range(9)))}\n")
    return "".join(lines)


BOMBS = {
    "lists": tower("[x]", "*{1}", "[{}]"),
    "mappings": tower("{x: 1}", "k{0}: *{1}", "{{{}}}"),
    "wide": "a: &a [" + "x," * 5000 + "]\nb: [" + "*a," * 5000 + "]\n",
    "merges": "a: &a {" + "".join(f"k{n}: 1," for n in range(3000)) + "}\nb:\n" + f"- {{<<: [{'*a,' * 20}]}}\n" * 200,
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_alias_bombs(text: str) -> None:
    """A small text that stands for a huge document is refused before it is built."""
    assert "excessive aliasing" in problem(text).message


def test_many_honest_aliases() -> None:
    """One anchor used by each of a thousand entries is no bomb."""
    (value,) = values("base: &b {x: 1, y: [1, 2]}\nall:\n" + "- {<<: *b, z: *b}\n" * 1000)
    assert len(value["all"]) == 1000


@pytest.mark.parametrize(
    "text", ["a: " + "x" * 2**20, "[" + "1," * 2**19 + "1]", '"' + "x\\n" * 2**18, "#" * 2**20, "-" * 2**20]
)
def test_long_lines(text: str) -> None:
    """A line of a megabyte is read, or refused, in no time."""
    reading = read(text)
    assert all(len(lost.message) < 300 for lost in reading.problems)


@pytest.mark.parametrize(
    ("text", "doubled"),
    [
        ("a: 1\nb: 2\na: 3\n", True),
        ("x: {a: 1, a: 1}\n", True),
        ("yes: 1\ntrue: 2\n", True),
        ("1: a\n'1': b\n", True),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', True),
        ("a: 1\nA: 2\n", False),
        ("x: {a: 1}\ny: {a: 1}\n", False),
        ('{"a": 1}', False),
    ],
)
def test_doubled_keys(text: str, doubled: bool) -> None:
    """A key that stands twice is noticed, and the last one counts."""
    assert read(text).doubled == ({1} if doubled else set())


def test_last_of_doubled_keys_counts() -> None:
    """The value is the later one, as on a kubelet."""
    assert values("a: 1\na: 2\n") == values('{"a": 1, "a": 2}') == [{"a": 2}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1e3, "b": [true, null]}', [{"a": 1000, "b": [True, None]}]),
        ('{"a": 1}\n{"b": 2} ["c"]', [{"a": 1}, {"b": 2}, ["c"]]),
        ("\n  [1, 2]\n", [[1, 2]]),
        ("{a: b, c: [y]}\n", [{"a": "b", "c": [True]}]),
        ('{"a": 1,}\n', [{"a": 1}]),
        ('{"a": 1}\n---\n{"b": 2}\n', [{"a": 1}, {"b": 2}]),
        ('{"a": NaN}', [{"a": "NaN"}]),
        ('{"y": "y", "n": "1:30"}', [{"y": "y", "n": "1:30"}]),
    ],
)
def test_json(text: str, expected: Any) -> None:
    """JSON is read as JSON, one value after another; what only looks like it is read as YAML."""
    assert values(text) == expected


_text = st.text(st.characters(codec="utf-8", exclude_categories=["C"]))
_key = st.text(string.ascii_letters + " é:#-", max_size=8)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | _text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_key, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(_json)
@example({"y": "y", "0777": "0777", "1": ["null", "~", "", "2001-12-14", "1:30", "=", "<<", ".inf", "08"]})
def test_json_is_yaml(value: Any) -> None:
    """Data written as JSON reads the same as JSON and, behind a separator, as YAML."""
    text = json.dumps(value, ensure_ascii=False)
    expected = [] if value is None else [value]
    assert values("--- " + text) == expected
    if isinstance(value, dict | list):
        assert values(text) == expected


@settings(deadline=None)
@given(st.text(st.sampled_from("ab:-[]{}&*!|>'\"%#?,~<= \n\t0.") | st.characters(), max_size=80))
def test_any_text(text: str) -> None:
    """No text makes reading raise or hang, and each problem is one bounded line."""
    for lost in read(text).problems:
        assert "\n" not in lost.message
        assert lost.document >= 1
