"""Foreign text cannot steer a terminal."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from podsync.render import describe_pod, events_table, plan_text, pods_table, printable

NOW = datetime(2030, 1, 1, tzinfo=UTC)
EVIL = "a\x1b[2Jb\x07\nforged\x9b31m\u202ec"
SAFE = r"a\x1b[2Jb\x07\nforged\x9b31m\u202ec"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (EVIL, SAFE),
        ("\r\t\x00\x7f\u2028\u2066\ud800", r"\r\t\x00\x7f\u2028\u2066\ud800"),
        ("grün 日本 🎉 \\x1b", "grün 日本 🎉 \\x1b"),
        (5, "5"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text: object, shown: str) -> None:
    """Control and reordering characters stand as escapes; everything else as it is."""
    assert printable(text) == shown


def test_kept_line_breaks_are_indented() -> None:
    """Where line breaks are kept no further line begins where one's own lines do."""
    assert printable("a\nb\x1b\rc\n", indent="  ") == "a\n  b\\x1b\\rc\n  "


def _strings(document: Any) -> Any:
    """The document with the hostile text in place of each string."""
    if isinstance(document, dict):
        return {EVIL if key == "any" else key: _strings(value) for key, value in document.items()}
    if isinstance(document, list):
        return [_strings(value) for value in document]
    return EVIL if isinstance(document, str) else document


POD = _strings(
    {
        "metadata": {"name": "x", "labels": {"any": "x"}, "annotations": {"any": "x"}},
        "spec": {
            "volumes": [{"name": "x", "hostPath": {"path": "x"}}],
            "containers": [
                {
                    "name": "x",
                    "image": "x",
                    "command": ["x"],
                    "args": ["x"],
                    "env": [{"name": "x", "value": "x"}],
                    "volumeMounts": [{"name": "x", "mountPath": "x"}],
                    "resources": {"limits": {"any": "x"}},
                }
            ],
        },
        "status": {
            "phase": "x",
            "reason": "x",
            "message": "x",
            "podIP": "x",
            "conditions": [{"type": "x", "status": "x", "reason": "x", "message": "x"}],
            "containerStatuses": [{"name": "x", "state": {"terminated": {"reason": "x", "message": "x"}}}],
        },
    }
)
EVENT = _strings({"involvedObject": {"kind": "x", "name": "x"}, "type": "x", "reason": "x", "message": "x"})
PLAN = {
    "changes": 1,
    "pods": [
        {
            "namespace": "default",
            "name": EVIL,
            "terminating": False,
            "actions": [{"text": f"+ pull {EVIL}", "cause": EVIL}],
            "waiting": [{"container": EVIL, "reason": EVIL, "message": EVIL}],
            "verdict": {"phase": "Failed", "reason": EVIL, "message": EVIL},
        }
    ],
}


@pytest.mark.parametrize(
    "text",
    [
        describe_pod(POD, [EVENT], NOW),
        events_table([EVENT], NOW, namespace=True),
        pods_table([POD], NOW, wide=True),
        plan_text(PLAN),
    ],
    ids=["describe", "events", "pods", "plan"],
)
def test_no_view_passes_it_on(text: str) -> None:
    """Every field of every view is made printable, and none begins a line of its own."""
    assert r"a\x1b[2Jb\x07" in text
    assert all(line.isprintable() for line in text.split("\n"))
    assert not any(line.startswith("forged") for line in text.split("\n"))
