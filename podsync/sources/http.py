"""``http://…`` and ``https://…``: the pods a URL answers with.

A Pod, a list or several documents, YAML or JSON, are asked for every 20 seconds, with
``If-None-Match`` and ``If-Modified-Since``. Nothing but a readable answer changes what runs:
any other status, an empty, cut, endless or late body, a web page, a missing server are failed
reads, retried after 1, 2, 4 … seconds up to the interval, or when ``Retry-After`` says. The
last good set is kept under the root and is what runs when the first read after a start fails.
An explicitly empty list is an answer: no pod is wanted. (The kubelet takes an empty body for
one.) Documents that are bad among good ones follow the rule in ``manifests``.

Options: ``interval`` (20), ``timeout`` (10: seconds for the connection and for each silence;
three times as much for everything), ``header`` (``Name: value``, several on lines of their
own), ``token_file`` (a bearer token, read again before each request), ``ca_file``,
``cert_file`` and ``key_file`` (PEM, loaded again when they change).

Redirects are followed five times, never out of https, and with credentials (a token, a header
option, a client certificate, a user in the URL) only on the same host. Proxies come from the
usual environment variables; ``~/.netrc`` is not read. The source's name, which enters the
pods' uid and is shown, is the URL without user and password; a secret in its query would be
shown, so put it into ``token_file``.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from podsync.backoff import Backoff
from podsync.errors import ConfigError, SourceError
from podsync.sources.fetch import Answer, Fetcher, FetchError, without_user
from podsync.sources.lastgood import LastGood
from podsync.sources.manifests import MAX_BYTES, Reading, merge, read_manifest
from podsync.sources.options import Options
from podsync.sources.polled import Polled, RetryLater

if TYPE_CHECKING:
    from datetime import datetime

    from podsync.clock import Clock
    from podsync.models import Pod
    from podsync.runtimes.base import StopToken
    from podsync.sources.base import Sink, Snapshot, Source

__all__ = ["HttpSource", "open_source"]

_LOG = logging.getLogger(__name__)
_INTERVAL, _TIMEOUT = 20.0, 10.0  # seconds
_LATEST = 300.0  # seconds; a Retry-After beyond is taken as this
_OK, _NOT_MODIFIED = 200, 304


class HttpSource:
    """The Source behind a URL. ``read`` may be called alone, from one thread at a time."""

    def __init__(
        self,
        url: str,
        clock: Clock,
        *,
        fetcher: Fetcher | None = None,
        interval: float = _INTERVAL,
        headers: Mapping[str, str] | None = None,
        token_file: str | Path | None = None,
        store: LastGood | None = None,
    ) -> None:
        """``fetcher`` makes the requests, with ordinary limits by default; ``interval`` is in seconds."""
        self.name = without_user(url)
        self._url = url
        self._clock = clock
        self._fetcher = fetcher or Fetcher(clock, timeout=_TIMEOUT, deadline=3 * _TIMEOUT, limit=MAX_BYTES)
        self._headers = dict(headers or {})
        self._token_file = token_file
        self._store = store or LastGood(None, self.name)
        self._validators: dict[str, str] = {}
        self._digest = b""
        self._doubted = b""
        self._reading: Reading | None = None
        self._last: Snapshot | None = None
        self._stop: StopToken | None = None
        self._polled = Polled(
            self.name, self.read, interval, clock, stored=self.stored, spoken=self.save,
            backoff=Backoff(initial=min(1.0, interval), maximum=interval),
        )  # fmt: skip

    def run(self, sink: Sink, stop: StopToken) -> None:
        """Blocks until stopped; a request under way is given up then."""
        self._stop = stop
        try:
            self._polled.run(_Quiet(sink, stop), stop)
        finally:
            self._stop = None
            self._fetcher.close()

    def read(self) -> Snapshot:
        """Ask once. Raises SourceError for whatever is no readable answer."""
        try:
            answer = self._fetcher.get(self._url, self._request_headers(), self._stop)
        except FetchError as error:
            raise SourceError(self.name, str(error)) from error
        if answer.status == _NOT_MODIFIED and self._last is not None and self._validators:
            return self._last
        if answer.status != _OK:
            raise self._refused(answer)
        return self._take(answer)

    def stored(self) -> Snapshot | None:
        """The last good set from before this process; None when there is none."""
        before = self._before()
        return merge([(self.name, Reading(pods=before), True)]) if before else None

    def save(self) -> None:
        """Store what is good now."""
        self._store.save("pods", self._before())

    def _take(self, answer: Answer) -> Snapshot:
        digest = hashlib.blake2b(answer.body, digest_size=16).digest()
        if digest != self._digest or self._last is None:
            if not answer.body.strip():
                raise SourceError(self.name, "answered with an empty body (an empty `kind: List` would mean no pods)")
            before = self._before()
            reading = read_manifest(answer.body, self.name, before)
            if reading.hopeless:
                raise SourceError(self.name, f"answered with no manifest: {reading.refusals[0].errors[0]}")
            if not answer.measured and digest != self._doubted and _fewer(reading, before):
                self._doubted = digest
                raise SourceError(self.name, "names fewer pods, its length is unknown: it counts if it comes twice")
            self._digest, self._reading = digest, reading
            self._last = merge([(self.name, reading, True)])
        self._validators = {
            ask: answer.headers[said]
            for ask, said in (("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified"))
            if said in answer.headers
        }
        return self._last

    def _before(self) -> tuple[Pod, ...]:
        """What the URL stands for until it answers anew."""
        if self._reading is None:
            self._reading = Reading(pods=self._store.load().get("pods", ()))
        return self._reading.pods

    def _request_headers(self) -> dict[str, str]:
        headers = self._headers | self._validators
        if self._token_file is not None:
            try:
                with Path(self._token_file).open(encoding="utf-8") as file:
                    token = file.read(1 << 16).strip()
            except (OSError, ValueError) as error:
                raise SourceError(self.name, f"the token file {self._token_file} cannot be read: {error}") from error
            if not token or not token.isprintable():
                raise SourceError(self.name, f"the token file {self._token_file} holds no token")
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def _refused(self, answer: Answer) -> SourceError:
        text = f"answered {answer.status} {answer.reason}".rstrip()
        seconds = _retry_after(answer.headers.get("Retry-After", ""), self._clock.now())
        if seconds is None:
            return SourceError(self.name, text)
        return RetryLater(self.name, f"{text}, to be asked again after {seconds:g} s", seconds)


class _Quiet:
    """A sink that hears no failure once stopped: a request given up is none."""

    def __init__(self, sink: Sink, stop: StopToken) -> None:
        self._stop = stop
        self._sink = sink
        self.replace = sink.replace

    def failed(self, error: SourceError) -> None:
        """Pass it on while running."""
        if not self._stop.is_set():
            self._sink.failed(error)


def _fewer(reading: Reading, before: tuple[Pod, ...]) -> bool:
    return bool({pod.key for pod in before} - {pod.key for pod in reading.pods})


def _retry_after(text: str, now: datetime) -> float | None:
    """Seconds to wait by a Retry-After header, which holds seconds or a date; None when it holds neither."""
    text = text.strip()
    if text.isdecimal():
        return min(float(text), _LATEST)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max((moment - now).total_seconds(), 0.0), _LATEST)


def open_source(options: Mapping[str, str], clock: Clock) -> Source:
    """The ``http`` and ``https`` kinds; ``spec`` is the whole URL. Raises ConfigError."""
    keys = ("interval", "timeout", "header", "token_file", "ca_file", "cert_file", "key_file")
    given = Options("http", options, keys)
    url = given.spec
    parts = _parts(url)
    headers = _headers(given.text("header") or "")
    token_file, cert_file, key_file = given.text("token_file"), given.text("cert_file"), given.text("key_file")
    if key_file and not cert_file:
        raise ConfigError(f"source {without_user(url)}: key_file needs a cert_file")
    timeout = given.seconds("timeout") or _TIMEOUT
    secret = bool(token_file or headers or parts.username)
    if secret and parts.scheme == "http":
        _LOG.warning("credentials go unencrypted to %s", without_user(url))
    fetcher = Fetcher(
        clock, timeout=timeout, deadline=3 * timeout, limit=MAX_BYTES, guarded=secret,
        ca_file=given.text("ca_file"), cert_file=cert_file, key_file=key_file,
    )  # fmt: skip
    return HttpSource(
        url, clock, fetcher=fetcher, interval=given.seconds("interval") or _INTERVAL,
        headers=headers, token_file=token_file, store=given.store(without_user(url)),
    )  # fmt: skip


def _parts(url: str) -> SplitResult:
    with suppress(ValueError):
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        if usable and url.isprintable() and " " not in url:
            return parts
    raise ConfigError(f"{without_user(url)!r} is not a URL; write it as in https://host/pods.yaml")


def _headers(text: str) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        name = name.strip()
        if not colon or not name or not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
            raise ConfigError(f"header {name!r} is not of the form 'Name: value'")  # the value may be a secret
        headers[name] = value.strip()
    return headers
