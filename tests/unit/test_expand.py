"""``$(VAR)`` expansion."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podsync.expand import MAX_TEXT, MAX_TOTAL, container_env, expand, expand_all, expanded_size
from podsync.models import Container, EnvVar


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("$(A)", "x"),
        ("a$(A)b$(A)c", "axbxc"),
        ("$(NONE)", "$(NONE)"),
        ("$$(A)", "$(A)"),
        ("$$", "$"),
        ("$$$(A)", "$x"),
        ("$$$$(A)", "$$(A)"),
        ("$(A", "$(A"),
        ("$A", "$A"),
        ("${A}", "${A}"),
        ("$()", "$()"),
        ("end$", "end$"),
        ("$(R)", "$(A)"),
        ("$(EMPTY)!", "!"),
        ("$(A $(A)", "$(A $(A)"),
        ("$(A)\n$(A)", "x\nx"),
    ],
)
def test_expand(text: str, expected: str) -> None:
    """Kubernetes' rules, case by case; what was put in is not expanded again."""
    assert expand(text, {"A": "x", "R": "$(A)", "EMPTY": ""}) == expected


@given(st.text(alphabet="ab()", max_size=20))
def test_text_without_a_dollar_is_kept(text: str) -> None:
    """Brackets alone mean nothing."""
    assert expand(text, {"a": "x", "": "y"}) == text


@given(st.text(alphabet="$(Ab)", max_size=20))
def test_doubling_every_dollar_undoes_expansion(text: str) -> None:
    """A text can always be written so that it comes out as it is."""
    assert expand(text.replace("$", "$$"), {"A": "x", "Ab": "y"}) == text


def test_expand_all() -> None:
    """Each word by itself."""
    assert expand_all(["$(A)", "b"], {"A": "x y"}) == ("x y", "b")


def test_env_in_order() -> None:
    """A variable sees those before it, not those behind; the last value of a name counts."""
    env = (
        EnvVar(name="LATE", value="$(B)"),
        EnvVar(name="A", value="1"),
        EnvVar(name="B", value="$(A)2"),
        EnvVar(name="A", value="3"),
        EnvVar(name="C", value="$(A)"),
        EnvVar(name="EMPTY"),
    )
    assert container_env(Container(name="c", env=env)) == {
        "LATE": "$(B)",
        "A": "3",
        "B": "12",
        "C": "3",
        "EMPTY": "",
    }


BOMB = tuple(EnvVar(name=f"E{n}", value=f"$(E{n - 1})$(E{n - 1})" if n else "x" * 10) for n in range(40))


def test_a_chain_of_references_cannot_fill_the_memory() -> None:
    """Whatever would grow beyond the limits stays as it is written, in env and in a command line."""
    env = container_env(Container(name="c", image="i", env=BOMB))
    assert env["E3"] == "x" * 80
    assert max(map(len, env.values())) <= MAX_TEXT
    assert sum(map(len, env.values())) <= MAX_TOTAL
    line = expand_all(["$(A)$(A)"] * 1000, {"A": "x" * 60_000})
    assert line[0] == "x" * 120_000
    assert sum(map(len, line)) <= MAX_TOTAL + 8 * 1000


@given(st.text(alphabet="$()AR é", max_size=20))
def test_the_size_is_told_without_expanding(text: str) -> None:
    """The computed size is the size of the expanded text in UTF-8."""
    env = {"A": "xé", "R": "", "": "yy"}
    sizes = {name: len(value.encode()) for name, value in env.items()}
    assert expanded_size(text, sizes) == len(expand(text, env).encode())
