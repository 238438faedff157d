"""The URL source against a real nginx: validators, TLS, client certificates, tokens, restarts."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from podsync.clock import SystemClock
from podsync.errors import SourceError
from podsync.sources import open as open_source
from podsync.sources.http import HttpSource
from tests.unit.sources.listening import Running, images, manifest

CONFIG = """
daemon off;
master_process off;
pid {home}/nginx.pid;
error_log {home}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log {home}/access.log;
  client_body_temp_path {home}/t1; proxy_temp_path {home}/t2; fastcgi_temp_path {home}/t3;
  uwsgi_temp_path {home}/t4; scgi_temp_path {home}/t5;
  gzip on; gzip_types *; gzip_min_length 1;
  default_type application/yaml;
  root {home}/www;
  server {{
    listen 127.0.0.1:{plain};
    location /secure/ {{ return 301 https://localhost:{tls}/pods.yaml; }}
    location /secret/ {{ if ($http_authorization != "Bearer let-me-in") {{ return 401; }} alias {home}/www/; }}
    location /busy {{ add_header Retry-After 3 always; return 429; }}
  }}
  server {{
    listen 127.0.0.1:{tls} ssl;
    ssl_certificate {home}/server.pem; ssl_certificate_key {home}/server.key;
    location /downgrade {{ return 302 http://localhost:{plain}/pods.yaml; }}
  }}
  server {{
    listen 127.0.0.1:{mutual} ssl;
    ssl_certificate {home}/server.pem; ssl_certificate_key {home}/server.key;
    ssl_client_certificate {home}/ca.pem; ssl_verify_client on;
  }}
}}
"""


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on now."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def openssl(home: Path, *arguments: str) -> None:
    """Run openssl in a directory."""
    subprocess.run(["openssl", *arguments], cwd=home, check=True, capture_output=True)


def certificates(home: Path) -> None:
    """An authority, a server certificate for localhost, and a client's."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    openssl(home, "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test authority")
    for name, common in (("server", "localhost"), ("client", "agent")):
        openssl(
            home,
            "req",
            "-x509",
            *key,
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-keyout",
            f"{name}.key",
            "-out",
            f"{name}.pem",
            "-subj",
            f"/CN={common}",
            "-addext",
            "subjectAltName=DNS:localhost",
            "-addext",
            "basicConstraints=CA:FALSE",
        )


class Nginx:
    """One nginx of our own, whose files and life a test may change."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.page = home / "www" / "pods.yaml"
        self.page.parent.mkdir()
        self.plain, self.tls, self.mutual = free_ports(3)
        certificates(home)
        (home / "nginx.conf").write_text(CONFIG.format(home=home, plain=self.plain, tls=self.tls, mutual=self.mutual))
        self.start()

    def start(self) -> None:
        """Begin to serve, and wait until it does."""
        self.process = subprocess.Popen(["nginx", "-e", self.home / "error.log", "-c", self.home / "nginx.conf"])
        clock, pause = SystemClock(), threading.Event()
        deadline = clock.monotonic() + 10
        while clock.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.mutual), 1).close()
            except OSError:
                pause.wait(0.02)
            else:
                return
        self.stop()
        pytest.fail(f"nginx does not start: {(self.home / 'error.log').read_text()}")

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()

    def statuses(self) -> list[str]:
        """The status codes it has answered so far."""
        return [line.split('"')[2].split()[0] for line in (self.home / "access.log").read_text().splitlines()]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    """A running nginx; skipped without one, unless everything is demanded."""
    missing = [name for name in ("nginx", "openssl") if shutil.which(name) is None]
    if missing:
        reason = f"needs {' and '.join(missing)} (Debian packages nginx-light, openssl)"
        if os.environ.get("PODSYNC_REQUIRE_ENGINES"):
            pytest.fail(reason)
        pytest.skip(reason)
    nginx = Nginx(tmp_path_factory.mktemp("nginx"))
    yield nginx
    nginx.stop()


@pytest.fixture(autouse=True)
def page(server: Nginx, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What it serves, at first pod ``a``."""
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server.page.write_text(manifest("a"))
    return server.page


def source(url: str, **options: str) -> HttpSource:
    """The source of a URL."""
    opened = open_source(url, timeout="2", **options)
    assert isinstance(opened, HttpSource)
    return opened


def test_an_unchanged_page_is_answered_with_304(server: Nginx, page: Path) -> None:
    """Its ETag and Last-Modified are sent back; an edit is a 200 again."""
    reading = source(f"http://127.0.0.1:{server.plain}/pods.yaml")
    first = reading.read()
    assert reading.read() is first
    page.write_text(manifest("a", "new-image"))
    assert images(reading.read().pods) == {"a": "new-image"}
    assert server.statuses()[-3:] == ["200", "304", "200"]


def test_a_missing_page_is_a_failed_read(server: Nginx) -> None:
    """404 with a web page."""
    with pytest.raises(SourceError, match="404 Not Found"):
        source(f"http://127.0.0.1:{server.plain}/none.yaml").read()


def test_an_emptied_page_is_a_failed_read(server: Nginx, page: Path) -> None:
    """200 with nothing: an editor or a full disk at the other end."""
    page.write_text("")
    with pytest.raises(SourceError, match="empty body"):
        source(f"http://127.0.0.1:{server.plain}/pods.yaml").read()


def test_tls_needs_the_authority(server: Nginx) -> None:
    """With its file the page is read, without it is not."""
    url = f"https://localhost:{server.tls}/pods.yaml"
    assert images(source(url, ca_file=str(server.home / "ca.pem")).read().pods) == {"a": "busybox:latest"}
    with pytest.raises(SourceError, match="certificate is not accepted"):
        source(url).read()


def test_tls_needs_the_right_name(server: Nginx) -> None:
    """The certificate is for localhost, not for the address."""
    with pytest.raises(SourceError, match="certificate is not accepted"):
        source(f"https://127.0.0.1:{server.tls}/pods.yaml", ca_file=str(server.home / "ca.pem")).read()


def test_an_authority_file_that_changes_is_loaded_again(server: Nginx, tmp_path: Path) -> None:
    """Rotated without a restart of the agent."""
    ca_file = tmp_path / "ca.pem"
    shutil.copy(server.home / "client.pem", ca_file)
    reading = source(f"https://localhost:{server.tls}/pods.yaml", ca_file=str(ca_file))
    with pytest.raises(SourceError, match="certificate is not accepted"):
        reading.read()
    shutil.copy(server.home / "ca.pem", ca_file)
    assert images(reading.read().pods) == {"a": "busybox:latest"}


def test_a_client_certificate_is_shown(server: Nginx) -> None:
    """The server answers 400 to who has none."""
    url, files = f"https://localhost:{server.mutual}/pods.yaml", {"ca_file": str(server.home / "ca.pem")}
    with pytest.raises(SourceError, match="400"):
        source(url, **files).read()
    files |= {"cert_file": str(server.home / "client.pem"), "key_file": str(server.home / "client.key")}
    assert images(source(url, **files).read().pods) == {"a": "busybox:latest"}


def test_a_token_opens_the_door(server: Nginx, tmp_path: Path) -> None:
    """Wrong at first, then written anew by whoever rotates it."""
    token = tmp_path / "token"
    token.write_text("wrong")
    reading = source(f"http://127.0.0.1:{server.plain}/secret/pods.yaml", token_file=str(token))
    with pytest.raises(SourceError, match="401"):
        reading.read()
    token.write_text("let-me-in\n")
    assert images(reading.read().pods) == {"a": "busybox:latest"}


def test_redirects_lead_into_https_and_never_out_of_it(server: Nginx) -> None:
    """Whatever the other side answers."""
    ca_file = str(server.home / "ca.pem")
    reading = source(f"http://localhost:{server.plain}/secure/pods.yaml", ca_file=ca_file)
    assert images(reading.read().pods) == {"a": "busybox:latest"}
    with pytest.raises(SourceError, match="out of https"):
        source(f"https://localhost:{server.tls}/downgrade", ca_file=ca_file).read()


def test_too_many_requests_says_when_to_come_back(server: Nginx) -> None:
    """Its Retry-After is in the message."""
    with pytest.raises(SourceError, match="429 Too Many Requests, to be asked again after 3 s"):
        source(f"http://127.0.0.1:{server.plain}/busy").read()


def test_nginx_away_and_back(server: Nginx, page: Path, tmp_path: Path) -> None:
    """The pods stay; a new agent meanwhile runs the last good set; back again, the page counts."""
    url, options = f"http://127.0.0.1:{server.plain}/pods.yaml", {"interval": "0.1", "timeout": "2"}
    before = Running(open_source(url, root=tmp_path, **options))
    assert before.heard.shows({"a": "busybox:latest"})
    server.stop()
    try:
        assert before.heard.wait(lambda heard: bool(heard.errors))
        assert before.end()
        assert [pods for _, pods, _ in before.heard.sets] == [{"a": "busybox:latest"}]
        after = Running(open_source(url, root=tmp_path, **options))
        assert after.heard.shows({"a": "busybox:latest"})
        page.write_text(manifest("a", "new"))
    finally:
        server.start()
    assert after.heard.shows({"a": "new"})
    assert after.end()
