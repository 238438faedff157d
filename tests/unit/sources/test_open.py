"""From a spec and options to a source."""

from __future__ import annotations

import subprocess
import sys

import pytest

from podsync.errors import ConfigError, PodsyncError
from podsync.sources import open as open_source
from podsync.sources import share_options


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("dir:/etc/m", "dir:/etc/m"),
        ("dir:/with:colon?and=more", "dir:/with:colon?and=more"),
        ("file:/etc/m.yaml", "file:/etc/m.yaml"),
        ("http://h/p", "http://h/p"),
        ("https://h:8443/p?a=b,c&d=e:f", "https://h:8443/p?a=b,c&d=e:f"),
        ("https://user:secret@h/p#part", "https://h/p"),
    ],
)
def test_the_spec_is_taken_as_it_is(spec: str, name: str) -> None:
    """No character of a path or a URL is eaten by a syntax of ours; secrets do not show in the name."""
    assert open_source(spec).name == name


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("", "dir:/etc/podsync/manifests"),
        ("/etc/m", "dir:/etc/m"),
        ("pod.yaml", "file:pod.yaml"),
        ("dir:", "needs a path"),
        ("http:", "not a URL"),
        ("https://", "not a URL"),
        ("http://h:99999/", "not a URL"),
        ("http://[::1/", "not a URL"),
        ("https://h/a b", "not a URL"),
        ("https://h/\n", "not a URL"),
    ],
)
def test_a_spec_that_makes_no_sense_is_told(spec: str, word: str) -> None:
    """With an example of what would."""
    with pytest.raises(ConfigError, match=word):
        open_source(spec)


def test_a_wrong_url_does_not_show_its_password() -> None:
    """Messages end in logs."""
    with pytest.raises(ConfigError) as caught:
        open_source("https://user:secret@h:99999/p")
    assert "secret" not in str(caught.value)


def test_an_unknown_kind_is_told() -> None:
    """It is looked for among the plug-ins."""
    with pytest.raises(PodsyncError, match="nonsense"):
        open_source("nonsense:x")


def test_options_of_the_only_source_need_no_number() -> None:
    """Dashes are as good as underscores; a value may hold anything; a key given twice has two lines."""
    pairs = ["token-file=/a=b", "header=A: 1", "header=B: 2", "1:interval=3"]
    assert share_options(["https://h/"], pairs) == [{"token_file": "/a=b", "header": "A: 1\nB: 2", "interval": "3"}]


def test_options_of_several_sources_name_theirs() -> None:
    """A token must never go to the wrong server."""
    assert share_options(["dir:/a", "https://h/"], ["2:token-file=/t"]) == [{}, {"token_file": "/t"}]


@pytest.mark.parametrize(
    ("pair", "word"),
    [("token-file=/t", "1:token-file=/t"), ("3:a=b", "source 3"), ("0:a=b", "source 0"), ("a", "KEY=VALUE")],
)
def test_options_that_name_no_source_are_told(pair: str, word: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(ConfigError, match=word):
        share_options(["dir:/a", "https://h/"], [pair])


def test_importing_loads_neither_an_http_client_nor_inotify() -> None:
    """A directory source needs no requests, and a URL no inotify, until they run."""
    code = (
        "import sys, podsync.sources, podsync.sources.http, podsync.sources.directory as d\n"
        "print([m for m in ('requests', 'urllib3', 'inotify_simple', 'docker', 'podman') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
