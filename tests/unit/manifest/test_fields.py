"""The table of fields: complete, true to the models, and current."""

from pathlib import Path

import pytest

from podsync.manifest import fields
from podsync.manifest.fields import Row, markdown, rows
from podsync.models import ConfigMap, Pod, Secret
from podsync.models.base import Model
from podsync.models.wire import Answer

DOCS = Path(__file__).parents[3] / "docs" / "fields.md"
POD = {row.path: row.support for row in rows(Pod)}


@pytest.mark.parametrize("kind", [Pod, ConfigMap, Secret])
def test_no_field_is_without_an_answer(kind: type[Model]) -> None:
    """Each is supported, or ignored or refused with a reason."""
    for path, support in rows(kind):
        assert support is not None, path
        assert support.because or support.answer is Answer.SUPPORTED, path


def test_a_field_without_an_answer_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row is there and says so, rather than being left out."""
    monkeypatch.setattr(
        fields, "fields_of", lambda model: [type("F", (), {"name": "x", "form": None, "element": "", "support": None})]
    )

    assert list(rows(Pod)) == [Row("x", None)]


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("metadata.name", Answer.SUPPORTED),
        ("spec.containers[].env[].value", Answer.SUPPORTED),
        ("spec.initContainers[].command[]", Answer.SUPPORTED),
        ("spec.volumes[].hostPath.type", Answer.SUPPORTED),
        ("spec.containers[].securityContext.seccompProfile.localhostProfile", Answer.SUPPORTED),
        ("spec.tolerations[]", Answer.IGNORED),
        ("spec.affinity", Answer.IGNORED),
        ("status", Answer.IGNORED),
        ("spec.containers[].livenessProbe", Answer.REFUSED),
        ("spec.volumes[].configMap", Answer.REFUSED),
        ("spec.containers[].resources.limits", Answer.REFUSED),
    ],
)
def test_answers_for_the_whole_tree(path: str, answer: Answer) -> None:
    """Paths go down to where one answer holds for the rest; part refusals count as refusals."""
    assert POD[path].answer is answer


def test_nothing_below_a_refused_or_ignored_field_is_listed() -> None:
    """One row answers for everything under it."""
    closed = [path for path, support in POD.items() if support.answer is not Answer.SUPPORTED]

    assert [path for path in POD for other in closed if path.startswith((f"{other}.", f"{other}["))] == []


def test_the_page_is_current() -> None:
    """Run ``python -m podsync.manifest.fields > docs/fields.md`` after a change of the models."""
    assert DOCS.read_text() == markdown()
