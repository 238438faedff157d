"""What a manifest may cost: sizes after expansion, objects and problems of a text, one uid for one pod."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podsync.manifest import parse

TOO_LONG = "Too long: may not be more than 131072 bytes"
TOGETHER = "Too long: may not be more than 1048576 bytes of expanded env, command and args together"
MAIN = "spec.containers[0]"
DOUBLING = [{"name": f"E{n}", "value": f"$(E{n - 1})$(E{n - 1})" if n else "x" * 10} for n in range(40)]
HUNDRED_K = {"name": "A", "value": "x" * 100_000}


def pod(name: str = "web", uid: str = "", **container: Any) -> dict[str, Any]:
    """A pod as plain data."""
    main = {"name": "main", "image": "busybox", **container}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "uid": uid},
        "spec": {"containers": [main]},
    }


def errors_of(*documents: Any) -> list[tuple[str, str]]:
    """Path and message of each error."""
    text = "\n".join(map(json.dumps, documents))
    return [(error.path, error.message) for error in parse(text).errors]


@pytest.mark.parametrize(
    ("container", "errors"),
    [
        ({"env": DOUBLING}, [(f"{MAIN}.env[14].value", TOO_LONG)]),
        ({"env": [{"name": "A", "value": "x" * 131_073}]}, [(f"{MAIN}.env[0].value", TOO_LONG)]),
        ({"env": [{"name": "A", "value": "é" * 65_537}]}, [(f"{MAIN}.env[0].value", TOO_LONG)]),
        ({"env": [{"name": "A", "value": "x" * 131_072}]}, []),
        ({"command": ["sh", "x" * 131_073]}, [(f"{MAIN}.command[1]", TOO_LONG)]),
        ({"env": [HUNDRED_K], "args": ["$(A)$(A)"]}, [(f"{MAIN}.args[0]", TOO_LONG)]),
        ({"env": [HUNDRED_K], "args": ["$$(A)$$(A)", "$(B)$(B)"]}, []),
        ({"env": [HUNDRED_K], "args": ["$(A)"] * 9}, []),
        ({"env": [HUNDRED_K], "args": ["$(A)"] * 10}, [(MAIN, TOGETHER)]),
        ({"command": ["x" * 1000] * 1049}, [(MAIN, TOGETHER)]),
    ],
)
def test_expanded_sizes(container: dict[str, Any], errors: list[tuple[str, str]]) -> None:
    """What Linux could not start a program with is refused, however few bytes are written."""
    found = errors_of(pod(**container))
    assert found == errors


@pytest.mark.parametrize("character", ["\x01", "\n", "\t", "\x1b", "\x7f"])
def test_an_image_holds_no_control_characters(character: str) -> None:
    """They are refused, and the message that says so holds none."""
    ((path, message),) = errors_of(pod(image=f"busy{character}box"))
    assert path == f"{MAIN}.image"
    assert message.endswith(": must not contain control characters")
    assert message.isprintable()


def test_a_uid_belongs_to_one_pod() -> None:
    """The second pod with a uid is refused, and both are named; the first stands."""
    parsed = parse("\n".join(json.dumps(each) for each in (pod("a", "u"), pod("b", "u"), pod("c", "v"))))
    assert [made.metadata.name for made in parsed.pods] == ["a", "c"]
    (error,) = parsed.errors
    assert (error.path, error.document) == ("metadata.uid", 2)
    assert error.message == 'Duplicate value: "u": pod default/a in document 1 has it'


@pytest.mark.parametrize(
    "text",
    [
        "---\na: 1\n" * 10_001,
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [1] * 10_001}),
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [{"kind": "List", "items": [1] * 5000}] * 3}),
        json.dumps({"kind": "List", "items": [{"kind": "List"}] * 10_001}),
    ],
    ids=["documents", "items", "nested", "empty lists"],
)
def test_a_text_has_a_bounded_number_of_objects(text: str) -> None:
    """One error stands for all of a text that holds too many."""
    parsed = parse(text, "f")
    assert [str(error) for error in parsed.errors] == ["f: holds more than 10000 objects: split it"]
    assert parsed.pods == ()


def test_a_text_has_a_bounded_number_of_problems() -> None:
    """After a thousand, each faulty object has one that counts its own; good pods still stand."""
    bad = pod("bad", env=[{"value": "x"}] * 600)
    parsed = parse("\n".join(json.dumps(each) for each in (bad, bad, bad, pod("good"))))
    counts = [len(document.errors) for document in parsed.documents]
    assert counts == [600, 401, 1, 0]
    assert parsed.documents[1].errors[-1].message == "and 201 more problems"
    assert parsed.documents[2].errors[0].message == "and 601 more problems"
    assert [made.metadata.name for made in parsed.pods] == ["good"]


def test_unknown_fields_beyond_the_bound_are_no_errors() -> None:
    """A count of what is only a warning is a warning."""
    data = pod()
    data["spec"] |= {f"unknown{number}": 1 for number in range(900)}
    second = json.loads(json.dumps(data).replace("web", "second"))
    parsed = parse("\n".join(map(json.dumps, (data, second))))
    assert len(parsed.pods) == 2
    assert sum(len(document.warnings) for document in parsed.documents) == 1001
