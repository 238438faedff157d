"""``podsync validate``: every problem of manifests, with where it stands."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import click

from podsync.cli.common import notice
from podsync.errors import FieldError

__all__ = ["validate"]


@click.command(short_help="Check manifests.")
@click.argument("targets", nargs=-1, required=True, metavar="FILE|DIR|-…")
@click.option("--strict", is_flag=True, help="Unknown fields and doubled keys are errors, not warnings.")
def validate(*, targets: tuple[str, ...], strict: bool) -> int:
    """Check manifests: files, the manifests of directories, or - for standard input.

    Each problem is one line on stderr: FILE:LINE: document N: field.path: what is wrong.
    Ends with 1 when there is an error.
    """
    pods = errors = warnings = files = 0
    first: dict[object, str] = {}
    for name, content in _contents(targets):
        files += 1
        found, keys = _problems(content, name, strict=strict) if isinstance(content, bytes) else ([content], [])
        for key in keys:
            if key in first:
                text = f"pod {key} is also in {first[key]}, whose pod is the one that runs"
                found.append(FieldError("metadata.name", text, file=name, warning=True))
            first.setdefault(key, name)
        pods += len(keys)
        errors += sum(1 for problem in found if not problem.warning)
        warnings += sum(1 for problem in found if problem.warning)
        for problem in found:
            notice(str(problem))
    told = [_count(files, "file"), _count(pods, "pod")]
    told += [_count(errors, "error")] if errors else []
    told += [_count(warnings, "warning")] if warnings else []
    click.echo(f"{'invalid' if errors else 'valid'}: {', '.join(told)}")
    return 1 if errors else 0


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _problems(content: bytes, name: str, *, strict: bool) -> tuple[list[FieldError], list[object]]:
    """The problems of one text, and the keys of its good pods."""
    from podsync.manifest import parse
    from podsync.manifest.schema import check

    parsed = parse(content, name)
    found = list(parsed.problems(strict=strict))
    for document in parsed.documents:
        # the schema says the same as the decoder: asked where that found nothing, it guards against a gap
        if document.raw is not None and not (document.item or document.errors or document.warnings):
            found += [replace(problem, file=name, document=document.index) for problem in check(document.raw)]
    if not strict:
        of_documents = [warning for document in parsed.documents for warning in document.warnings]
        found += [*of_documents, *parsed.warnings]
    found.sort(key=lambda problem: (problem.document, problem.line))
    return found, [pod.key for pod in parsed.pods]


def _contents(targets: Iterable[str]) -> Iterator[tuple[str, bytes | FieldError]]:
    """(name, content) of every file meant, or why it cannot be read."""
    from podsync.manifest import MAX_BYTES

    for target in targets:
        if target == "-":
            closed = FieldError("", "cannot be read: it is closed", file="<stdin>")
            yield "<stdin>", closed if sys.stdin is None else sys.stdin.buffer.read(MAX_BYTES + 1)
            continue
        path = Path(target)
        try:
            files = _manifests(path) if path.is_dir() else [path]
        except OSError as error:
            yield target, _unreadable(target, error)
            continue
        for file in files:
            try:
                with file.open("rb") as stream:
                    yield str(file), stream.read(MAX_BYTES + 1)
            except OSError as error:
                yield str(file), _unreadable(str(file), error)


def _manifests(directory: Path) -> list[Path]:
    """The files of a directory that the directory source would read."""
    from podsync.sources.directory import is_manifest_name

    return sorted(path for path in directory.iterdir() if is_manifest_name(path.name) and path.is_file())


def _unreadable(name: str, error: OSError) -> FieldError:
    return FieldError("", f"cannot be read: {error.strerror}", file=name)
