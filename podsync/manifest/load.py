"""A text to pods: read, decode, default, validate, and say where each mistake stands.

``parse`` never raises and keeps everything it found; ``load`` gives the pods or raises
every error at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, TypeVar

from podsync.errors import FieldError, ManifestError
from podsync.manifest.decode import decode_config_map, decode_pod, decode_secret
from podsync.manifest.lines import Place, places
from podsync.manifest.reader import Unreadable, read
from podsync.manifest.source import MAX_BYTES, MAX_OBJECTS, NotTextError, fetch, one_line, to_text
from podsync.manifest.validate import validate_config_map, validate_pod, validate_secret
from podsync.manifest.validate.problems import duplicate, required, unsupported
from podsync.models import ConfigMap, Pod, PodKey, Secret

__all__ = ["KINDS", "MAX_BYTES", "Document", "Parsed", "load", "parse"]

KINDS = ("ConfigMap", "List", "Pod", "PodList", "Secret")
"""What a document may be."""

_T = TypeVar("_T")
_LISTS = ("List", "PodList")
_MOST_PROBLEMS = 1000  # that are told of one text
_ITEM = re.compile(r"items\[\d+\](?:\.items\[\d+\])*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One object of a text: a document of its own, or an item of a list."""

    index: int
    """The document it stands in, from 1; empty documents count."""
    item: str = ""
    """Its place in a list (``items[3]``), which also begins the paths of its errors."""
    kind: str = ""
    raw: Any = None
    """The plain data, which nobody may change; None for a document that could not be read."""
    pod: Pod | None = None
    """The decoded and defaulted pod; None when it has errors or is something else."""
    config: ConfigMap | Secret | None = None
    errors: tuple[FieldError, ...] = ()
    warnings: tuple[FieldError, ...] = ()

    @property
    def key(self) -> PodKey | None:
        """Namespace and name of a Pod, also of a faulty one where they can be told."""
        if self.pod is not None:
            return self.pod.key
        metadata = self.raw.get("metadata") if isinstance(self.raw, dict) and self.kind == "Pod" else None
        name = metadata.get("name") if isinstance(metadata, dict) else None
        if not isinstance(metadata, dict) or not isinstance(name, str) or not name:
            return None
        namespace = metadata.get("namespace")
        return PodKey(namespace if isinstance(namespace, str) and namespace else "default", name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """Everything one text holds."""

    file: str = ""
    documents: tuple[Document, ...] = ()
    """In the order of the text; a document that is no YAML is there with its error."""
    warnings: tuple[FieldError, ...] = ()
    """Of the text as a whole."""

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The pods without errors."""
        return tuple(document.pod for document in self.documents if document.pod is not None)

    @property
    def errors(self) -> tuple[FieldError, ...]:
        """All errors, in the order of the documents."""
        return tuple(error for document in self.documents for error in document.errors)

    def problems(self, *, strict: bool = False) -> tuple[FieldError, ...]:
        """The errors; with ``strict`` also the warnings, as errors."""
        if not strict:
            return self.errors
        found = [problem for document in self.documents for problem in (*document.errors, *document.warnings)]
        return tuple(replace(problem, warning=False) for problem in (*found, *self.warnings))


@dataclass(slots=True)
class _Draft:
    """A Document in the making."""

    index: int
    item: str
    kind: str
    raw: Any
    pod: Pod | None = None
    config: ConfigMap | Secret | None = None
    problems: list[FieldError] = field(default_factory=list)


def load(source: str | bytes | Path | IO[str] | IO[bytes], *, strict: bool = False) -> tuple[Pod, ...]:
    """Give the pods of a path, a text, bytes or an open file, decoded, defaulted and validated.

    A ``str`` is the text itself when it holds a line break or begins with ``{``, and a
    path otherwise. ConfigMaps and Secrets are checked and left out.

    Raises ManifestError with every error of the text; with ``strict`` unknown fields and
    doubled keys, else warnings, are errors too. A text without any document is an error
    only then.
    """
    text, file = fetch(source)
    parsed = parse(text, file)
    problems = parsed.problems(strict=strict)
    if problems:
        raise ManifestError(problems)
    return parsed.pods


def parse(text: str | bytes, file: str = "") -> Parsed:
    """Everything in a text, mistakes included; never raises. ``file`` is what errors call it."""
    try:
        decoded = to_text(text)
    except NotTextError as error:
        problem = FieldError("", str(error), file=file, line=error.line)
        return Parsed(file=file, documents=(Document(index=1, errors=(problem,)),))
    reading = read(decoded)
    if sum(islice(chain.from_iterable(_ones(raw.value) for raw in reading.documents), MAX_OBJECTS + 1)) > MAX_OBJECTS:
        problem = FieldError("", f"holds more than {MAX_OBJECTS} objects: split it", file=file)
        return Parsed(file=file, documents=(Document(index=1, errors=(problem,)),))
    drafts = [draft for raw in reading.documents for draft in _drafts(raw.index, "", raw.value)]
    _refuse_doubled_pods(drafts)
    if not reading.problems and not reading.doubled and not any(draft.problems for draft in drafts):
        documents = [_finish(draft, (), ()) for draft in drafts]
    else:
        documents = _located(drafts, reading.problems, reading.doubled, decoded, file)
    nothing = FieldError("", "no documents: nothing but comments, blanks and empty lists", file=file, warning=True)
    return Parsed(file=file, documents=tuple(documents), warnings=() if documents else (nothing,))


def _ones(raw: Any) -> Iterator[int]:
    """A one for each object of a document, lists themselves included."""
    yield 1
    if isinstance(raw, dict) and raw.get("kind") in _LISTS and isinstance(items := raw.get("items"), list):
        for entry in items:
            yield from _ones(entry)


def _drafts(index: int, item: str, raw: Any, assumed: str = "") -> Iterator[_Draft]:
    """The objects of a document, lists taken apart. ``assumed`` is the kind of items that name none."""
    kind = raw.get("kind", assumed) if isinstance(raw, dict) else ""
    if kind not in _LISTS:
        yield _object(_Draft(index, item, kind if isinstance(kind, str) else "", raw), assumed)
        return
    problems = list(_envelope(raw))
    items = raw.get("items") or []
    if not isinstance(items, list):
        problems.append(FieldError("items", "Invalid value: must be a list"))
        items = []
    if problems:
        yield _Draft(index, item, kind, raw, problems=problems)
    for number, entry in enumerate(items):
        place = f"{item}.items[{number}]" if item else f"items[{number}]"
        yield from _drafts(index, place, entry, "Pod" if kind == "PodList" else "")


def _object(draft: _Draft, assumed: str) -> _Draft:
    """Decode and validate one object into its draft."""
    raw = draft.raw
    if not isinstance(raw, dict):
        what = "a list" if isinstance(raw, list) else "a single value"
        draft.problems.append(FieldError("", f"Invalid value: must be a mapping with apiVersion and kind, not {what}"))
        return draft
    draft.problems += _envelope(raw, assumed)
    if draft.kind == "Pod":
        draft.pod = _checked(draft, *decode_pod(raw), validate_pod)
    elif draft.kind == "ConfigMap":
        draft.config = _checked(draft, *decode_config_map(raw), validate_config_map)
    elif draft.kind == "Secret":
        draft.config = _checked(draft, *decode_secret(raw), validate_secret)
    return draft


def _envelope(raw: dict[str, Any], assumed: str = "") -> Iterator[FieldError]:
    """What is wrong with apiVersion and kind; an item whose list says what it is may leave both out."""
    kind, version = raw.get("kind", assumed), raw.get("apiVersion", "v1" if assumed else None)
    if kind is None or kind == "":
        yield required("kind")
    elif kind not in KINDS:
        yield unsupported("kind", kind, KINDS)
    if version is None or version == "":
        yield required("apiVersion")
    elif version != "v1" and kind in KINDS:
        yield unsupported("apiVersion", version, ("v1",))


def _checked(
    draft: _Draft, value: _T | None, problems: list[FieldError], validate: Callable[[_T], list[FieldError]]
) -> _T | None:
    """Validate what was decoded and note all problems; no rule is applied to a field that is wrong already."""
    draft.problems += problems
    if value is None:
        return None
    broken = validate(value)
    if broken and problems:
        wrong = [problem.path for problem in problems if not problem.warning]
        broken = [error for error in broken if not any(_is_below(error.path, path) for path in wrong)]
    draft.problems += broken
    return value


def _is_below(path: str, parent: str) -> bool:
    return path == parent or path.startswith((f"{parent}.", f"{parent}["))


def _refuse_doubled_pods(drafts: list[_Draft]) -> None:
    """The first pod of a name, or of a uid, stands, as on a kubelet; the others are errors."""
    first: dict[PodKey, int] = {}
    uids: dict[str, _Draft] = {}
    for draft in drafts:
        if draft.pod is None or not draft.pod.metadata.name:
            continue
        key, uid = draft.pod.key, draft.pod.metadata.uid
        if uid and key not in first and (owner := uids.setdefault(uid, draft)) is not draft and owner.pod is not None:
            error = duplicate("metadata.uid", uid)
            where = f"pod {owner.pod.key} in document {owner.index} has it"
            draft.problems.append(replace(error, message=f"{error.message}: {where}"))
        if key in first:
            error = duplicate("metadata.name", key.name)
            where = f"document {first[key]} has a pod of that name in namespace {key.namespace}"
            draft.problems.append(replace(error, message=f"{error.message}: {where}"))
        else:
            first[key] = draft.index


def _located(
    drafts: list[_Draft], unreadable: list[Unreadable], doubled: set[int], text: str, file: str
) -> list[Document]:
    """Finish documents of which at least one has a problem."""
    where = places(text)
    twice = {index: _doubled_keys(where[index], index, file) for index in doubled if index in where}
    documents = []
    room = _MOST_PROBLEMS
    for draft in drafts:
        keys = twice.get(draft.index, {})
        # What stands in no item belongs to the whole document: it is told once, with the first.
        problems = keys.pop("", []) + (keys.pop(draft.item, []) if draft.item else [])
        place = where.get(draft.index)
        told = sorted(draft.problems, key=_is_warning) if len(draft.problems) > room else draft.problems
        problems += [_locate(problem, draft, place, file) for problem in told[:room]]
        if len(told) > room:
            # Each faulty object keeps an error, or its pod would count as one that nobody wants.
            more = FieldError("", f"and {len(told) - room} more problems", warning=told[room].warning)
            problems.append(_locate(more, draft, place, file))
        room = max(0, room - len(told))
        errors = tuple(problem for problem in problems if not problem.warning)
        documents.append(_finish(draft, errors, tuple(problem for problem in problems if problem.warning)))
    for lost in unreadable:
        error = FieldError("", one_line(lost.message), file=file, line=lost.line, document=lost.document)
        documents.append(Document(index=lost.document, errors=(error,)))
    return sorted(documents, key=lambda document: document.index)


def _is_warning(problem: FieldError) -> bool:
    return problem.warning


def _doubled_keys(place: Place, index: int, file: str) -> dict[str, list[FieldError]]:
    """Warnings about keys that stand twice in a document, by the list item they stand in."""
    found: dict[str, list[FieldError]] = {}
    for twice in place.all_doubled()[:_MOST_PROBLEMS]:
        item = _ITEM.match(twice.path)
        words = f"{duplicate('', twice.key).message}: lines {twice.first} and {twice.again}; the last one counts"
        warning = FieldError(one_line(twice.path), one_line(words), file, twice.again, index, warning=True)
        found.setdefault(item.group() if item else "", []).append(warning)
    return found


def _locate(problem: FieldError, draft: _Draft, place: Place | None, file: str) -> FieldError:
    path = problem.path
    if draft.item:
        path = f"{draft.item}.{path}" if path else draft.item
    line = place.line_of(path) if place is not None else 0
    return FieldError(one_line(path), one_line(problem.message), file, line, draft.index, problem.warning)


def _finish(draft: _Draft, errors: tuple[FieldError, ...], warnings: tuple[FieldError, ...]) -> Document:
    return Document(
        index=draft.index,
        item=draft.item,
        kind=draft.kind,
        raw=draft.raw,
        pod=None if errors else draft.pod,
        config=None if errors else draft.config,
        errors=errors,
        warnings=warnings,
    )
