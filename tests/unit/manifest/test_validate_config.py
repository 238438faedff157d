"""Rules of ConfigMaps and Secrets."""

from __future__ import annotations

from typing import Any

import pytest

from podsync.manifest.decode import decode_config_map, decode_secret
from podsync.manifest.validate import validate_config_map, validate_secret

KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
    "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
MEBIBYTE = 2**20


def config_map(**fields: Any) -> list[str]:
    """What is said of a ConfigMap."""
    decoded, errors = decode_config_map({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, **fields})
    assert (errors, decoded is None) == ([], False)
    assert decoded is not None
    return [str(error) for error in validate_config_map(decoded)]


def secret(**fields: Any) -> list[str]:
    """What is said of a Secret."""
    decoded, errors = decode_secret({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, **fields})
    assert (errors, decoded is None) == ([], False)
    assert decoded is not None
    return [str(error) for error in validate_secret(decoded)]


@pytest.mark.parametrize("key", ["a", "key.name", "KEY_NAME", "key-name", ".a", "-", "a" * 253])
def test_good_keys(key: str) -> None:
    """What can be a file's name is a key, of text and of bytes."""
    assert config_map(data={key: "x"}) == config_map(binaryData={key: ""}) == secret(data={key: ""}) == []


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("", KEY),
        ("a b", KEY),
        ("a/b", KEY),
        (".", "must not be '.'"),
        ("..", "must not be '..'"),
        ("..a", "must not start with '..'"),
        ("a" * 254, "must be no more than 253 characters"),
    ],
)
def test_bad_keys(key: str, words: str) -> None:
    """What cannot be a file's name is refused wherever it stands."""
    for field, found in (
        ("data", config_map(data={key: "x"})),
        ("binaryData", config_map(binaryData={key: ""})),
        ("data", secret(data={key: ""})),
        ("data", secret(stringData={key: ""})),
    ):
        (line,) = found
        assert line.startswith(f"{field}[{key}]: Invalid value: ")
        assert line.endswith(words)


def test_key_in_both() -> None:
    """One key cannot be text and bytes."""
    assert config_map(data={"a": "x", "b": "x"}, binaryData={"b": "", "c": ""}) == [
        'data[b]: Invalid value: "b": duplicate of key present in binaryData'
    ]


def test_size() -> None:
    """All values together have at most a mebibyte."""
    assert config_map(data={"a": "x" * (MEBIBYTE - 2), "b": "é"}) == []
    assert config_map(data={"a": "x" * (MEBIBYTE - 1), "b": "é"}) == [
        "data: Too long: may not be more than 1048576 bytes"
    ]
    assert config_map(data={"a": "x" * (MEBIBYTE - 3)}, binaryData={"b": "AAAA"}) == []
    assert config_map(data={"a": "x" * (MEBIBYTE - 2)}, binaryData={"b": "AAAA"}) != []
    assert secret(stringData={"a": "x" * MEBIBYTE}) == []
    assert secret(stringData={"a": "x" * (MEBIBYTE + 1)}) == ["data: Too long: may not be more than 1048576 bytes"]


def test_metadata() -> None:
    """Names follow the same rules as a pod's."""
    for found in (config_map(metadata={"name": "A"}), secret(metadata={"name": "A"})):
        (line,) = found
        assert line.startswith('metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain')
    assert config_map(metadata={}) == ["metadata.name: Required value: name is needed for the ConfigMap"]


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("kubernetes.io/tls", ["tls.crt", "tls.key"]),
        ("kubernetes.io/ssh-auth", ["ssh-privatekey"]),
        ("kubernetes.io/dockerconfigjson", [".dockerconfigjson"]),
        ("kubernetes.io/dockercfg", [".dockercfg"]),
        ("Opaque", []),
        ("example.com/own", []),
    ],
)
def test_keys_of_a_type(kind: str, keys: list[str]) -> None:
    """A Secret of a known type holds that type's keys."""
    assert secret(type=kind) == [f"data[{key}]: Required value" for key in keys]
    assert secret(type=kind, stringData=dict.fromkeys(keys, "x")) == []
