"""What a URL source sends to whom: credentials, redirects, proxies; and its options."""

from __future__ import annotations

from pathlib import Path

import pytest

from podsync.errors import ConfigError, SourceError
from podsync.sources.fetch import FetchError, follow, without_user
from tests.unit.sources import misbehaving as server
from tests.unit.sources.listening import images, manifest
from tests.unit.sources.misbehaving import Answerer, Handler, Server, serving, source

ONE, TWO = manifest("a"), manifest("a", "new")


def test_headers_and_a_token_that_changes(played: Server, tmp_path: Path) -> None:
    """The token file is read before each request."""
    token = tmp_path / "token"
    token.write_text("first\n")
    reading = source(played, header="X-One: 1\nX-Two: a: b", token_file=str(token))
    reading.read()
    token.write_text("second\n")
    reading.read()
    assert [asked["Authorization"] for asked in played.asked] == ["Bearer first", "Bearer second"]
    assert (played.asked[0]["X-One"], played.asked[0]["X-Two"]) == ("1", "a: b")


@pytest.mark.parametrize("content", [None, "", "\n", "a\x00b", "a\nb", b"\xff"])
def test_a_token_that_cannot_be_used_is_a_failed_read(
    played: Server, tmp_path: Path, content: str | bytes | None
) -> None:
    """It is asked nothing without the token, and the token is not shown."""
    token = tmp_path / "token"
    if content is not None:
        token.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SourceError, match="token file"):
        source(played, token_file=str(token)).read()
    assert played.asked == []


def test_user_and_password_of_the_url_are_sent_and_not_shown(played: Server) -> None:
    """Basic authentication; the source's name has neither."""
    played.url = played.url.replace("//", "//user:secret@")
    reading = source(played)
    reading.read()
    assert played.asked[0]["Authorization"] == "Basic dXNlcjpzZWNyZXQ="
    played.answer = server.status(500)
    with pytest.raises(SourceError) as caught:
        reading.read()
    assert "secret" not in reading.name + str(caught.value)


def test_netrc_is_not_read(played: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A password somebody once put there for another purpose is not sent."""
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login user password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    source(played).read()
    assert "Authorization" not in played.asked[0]


def test_proxies_of_the_environment_are_used(played: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server plays the proxy: it is asked for the whole URL."""
    monkeypatch.setenv("http_proxy", played.url.removesuffix("/pods.yaml"))
    monkeypatch.setenv("no_proxy", "other.invalid")
    played_elsewhere = Server(url="http://somewhere.invalid/pods.yaml")
    assert images(source(played_elsewhere).read().pods) == {"a": "busybox:latest"}
    assert played.paths == ["http://somewhere.invalid/pods.yaml"]


def _to(place: str) -> Answerer:
    def answer(handler: Handler) -> None:
        if handler.path == "/pods.yaml":
            handler.reply(b"", 302, {"Location": place})
        else:
            handler.reply(TWO.encode())

    return answer


def test_redirects_on_the_same_host_are_followed(played: Server) -> None:
    """With the credentials."""
    played.answer = _to("/moved.yaml")
    assert images(source(played, header="X-Key: k").read().pods) == {"a": "new"}
    assert [asked.get("X-Key") for asked in played.asked] == ["k", "k"]


def test_redirects_elsewhere_are_followed_without_secrets_only(played: Server) -> None:
    """Another port is another server."""
    with serving(server.text(TWO)) as other:
        played.answer = _to(other.url)
        assert images(source(played).read().pods) == {"a": "new"}
        with pytest.raises(SourceError, match="not followed there with credentials"):
            source(played, header="X-Key: k").read()
        assert [asked.get("X-Key") for asked in other.asked] == [None]


@pytest.mark.parametrize(
    ("url", "location", "guarded", "result"),
    [
        ("https://h/a/b", "c", True, "https://h/a/c"),
        ("https://h/a", "/c", True, "https://h/c"),
        ("https://h/a", "//h/c", True, "https://h/c"),
        ("https://h/a", "https://other/c", False, "https://other/c"),
        ("https://h/a", "https://other/c", True, None),
        ("https://h/a", "https://h:8443/c", True, None),
        ("https://h/a", "http://h/c", False, None),
        ("https://h/a", "http://h/c", True, None),
        ("http://h/a", "https://h/c", True, "https://h/c"),
        ("http://h:8080/a", "https://h/c", True, None),
        ("http://h:8080/a", "https://h/c", False, "https://h/c"),
        ("http://h/a", "ftp://h/c", False, None),
        ("http://h/a", "file:///etc/shadow", False, None),
        ("http://h/a", "http://h:99999/x", False, None),
        ("http://h.example/a", "http://h.example.evil/a", True, None),
    ],
)
def test_where_a_redirect_may_lead(url: str, location: str, guarded: bool, result: str | None) -> None:
    """Never out of https, to nothing but http and https, and off the host only without secrets."""
    if result is None:
        with pytest.raises(FetchError):
            follow(url, location, guarded=guarded)
    else:
        assert follow(url, location, guarded=guarded) == result


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://u:p@h/x?q#f", "https://h/x?q"),
        ("https://h/x@y", "https://h/x@y"),
        ("http://a@b@h:1/", "http://h:1/"),
        ("x", "x"),
        ("", ""),
    ],
)
def test_what_of_a_url_is_shown(url: str, shown: str) -> None:
    """All but user, password and fragment."""
    assert without_user(url) == shown


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"header": "no colon"}, "Name: value"),
        ({"header": ": x"}, "Name: value"),
        ({"header": "a b: x"}, "Name: value"),
        ({"key_file": "/k"}, "needs a cert_file"),
        ({"tokenfile": "/t"}, "did you mean token_file"),
        ({"timeout": "never"}, "seconds"),
    ],
)
def test_wrong_options_are_told(played: Server, options: dict[str, str], word: str) -> None:
    """With what is wrong, never with the value of a header."""
    with pytest.raises(ConfigError, match=word):
        source(played, **options)


def test_credentials_over_plain_http_are_warned_of(played: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Once, when the source is opened; it may be a test."""
    source(played, header="X-Key: secret")
    assert "unencrypted" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("option", ["ca_file", "cert_file", "key_file"])
def test_a_missing_certificate_file_is_a_failed_read(played: Server, tmp_path: Path, option: str) -> None:
    """It may appear later, so the agent does not refuse to start."""
    options = {option: str(tmp_path / "none")}
    if option == "key_file":
        options["cert_file"] = __file__
    with pytest.raises(SourceError, match=r"none.*No such file"):
        source(played, **options).read()
