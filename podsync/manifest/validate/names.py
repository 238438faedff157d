"""What the API accepts as a name, a key or a path, and its words for what it does not.

Each function takes the text and gives the complaints about it: none when it is fine.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

__all__ = [
    "NO_NUL",
    "NUL",
    "config_key",
    "dns_label",
    "dns_subdomain",
    "env_name",
    "ip_address",
    "label_value",
    "no_backsteps",
    "port_name",
    "port_number",
    "qualified_name",
    "relative_path",
    "search_domain",
    "user_id",
]

NUL = "\0"
"""The character that ends a path or an argument in the kernel's eyes."""
NO_NUL = "must not contain the character U+0000"
Complaints = tuple[str, ...]

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_SEARCH_LABEL = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH_DOMAIN = rf"{_SEARCH_LABEL}(\.{_SEARCH_LABEL})*"
_NAME_PART = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_CONFIG_KEY = r"[-._a-zA-Z0-9]+"
_ENDS = "and must start and end with an alphanumeric character"

_LABEL_TEXT = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS} "
    f"(e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_TEXT = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS} "
    f"(e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_SEARCH_DOMAIN_TEXT = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', {_ENDS} "
    f"(e.g. 'example.com', regex used for validation is '{_SEARCH_DOMAIN}')"
)
_NAME_PART_TEXT = (
    f"name part must consist of alphanumeric characters, '-', '_' or '.', {_ENDS} "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME_PART}')"
)
_QUALIFIED_TEXT = (
    f"a qualified name must consist of alphanumeric characters, '-', '_' or '.', {_ENDS} "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME_PART}') "
    "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_LABEL_VALUE_TEXT = (
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS} "
    "(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_CONFIG_KEY_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
    f"(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '{_CONFIG_KEY}')"
)
_ENV_NAME_TEXT = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_IP_TEXT = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"

_label_match = re.compile(_LABEL).fullmatch
_subdomain_match = re.compile(_SUBDOMAIN).fullmatch
_search_match = re.compile(_SEARCH_DOMAIN).fullmatch
_name_part_match = re.compile(_NAME_PART).fullmatch
_config_key_match = re.compile(_CONFIG_KEY).fullmatch
_env_name_match = re.compile(r"[ -<>-~]+").fullmatch
_port_name_match = re.compile(r"[-a-z0-9]+").fullmatch

_SUBDOMAIN_MAX, _LABEL_MAX, _PORT_NAME_MAX = 253, 63, 15
_PORT_MAX, _ID_MAX = 65535, 2**31 - 1


def _length(text: str, limit: int) -> Complaints:
    """The API counts bytes and says characters."""
    return (f"must be no more than {limit} characters",) if len(text.encode("utf-8", "replace")) > limit else ()


def dns_subdomain(text: str) -> Complaints:
    """Of a pod, a ConfigMap, a host: at most 253 characters of lower-case labels with dots."""
    if len(text) <= _SUBDOMAIN_MAX and _subdomain_match(text):
        return ()
    return _length(text, _SUBDOMAIN_MAX) + (() if _subdomain_match(text) else (_SUBDOMAIN_TEXT,))


def dns_label(text: str) -> Complaints:
    """Of a container, a volume, a namespace: at most 63 characters, no dots."""
    if len(text) <= _LABEL_MAX and _label_match(text):
        return ()
    if _label_match(text):
        return _length(text, _LABEL_MAX)
    return (*_length(text, _LABEL_MAX), "must not contain dots" if _subdomain_match(text) else _LABEL_TEXT)


def search_domain(text: str) -> Complaints:
    """A search domain of resolv.conf: a subdomain that may hold ``_`` and end in a dot; ``.`` is allowed."""
    name = text.removesuffix(".")
    if text == ".":
        return ()
    return _length(name, _SUBDOMAIN_MAX) + (() if _search_match(name) else (_SEARCH_DOMAIN_TEXT,))


@lru_cache(maxsize=1024)  # the same few keys stand on every pod
def qualified_name(text: str) -> Complaints:
    """A label's or annotation's key, a resource: ``name`` or ``example.com/name``."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return (_QUALIFIED_TEXT,)
    found: Complaints = ()
    if slash:
        found = (
            tuple(f"prefix part {words}" for words in dns_subdomain(prefix))
            if prefix
            else ("prefix part must be non-empty",)
        )
    if not name:
        found += ("name part must be non-empty",)
    elif words := _length(name, _LABEL_MAX):
        found += (f"name part {words[0]}",)
    return found if _name_part_match(name) else (*found, _NAME_PART_TEXT)


def label_value(text: str) -> Complaints:
    """A label's value: empty, or at most 63 characters."""
    if not text:
        return ()
    return _length(text, _LABEL_MAX) + (() if _name_part_match(text) else (_LABEL_VALUE_TEXT,))


def env_name(text: str) -> Complaints:
    """An environment variable's name, by the relaxed rule."""
    return () if _env_name_match(text) else (_ENV_NAME_TEXT,)


def config_key(text: str) -> Complaints:
    """A key of a ConfigMap or Secret, which may become a file's name."""
    found = _length(text, _SUBDOMAIN_MAX) + (() if _config_key_match(text) else (_CONFIG_KEY_TEXT,))
    if text in (".", ".."):
        return (*found, f"must not be '{text}'")
    return (*found, "must not start with '..'") if text.startswith("..") else found


def port_name(text: str) -> Complaints:
    """A port's name (an IANA service name in lower case)."""
    found = _length(text, _PORT_NAME_MAX)
    if not _port_name_match(text):
        found += ("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",)
    if not any("a" <= letter <= "z" for letter in text):
        found += ("must contain at least one letter (a-z)",)
    if "--" in text:
        found += ("must not contain consecutive hyphens",)
    if text[:1] == "-" or text[-1:] == "-":
        found += ("must not begin or end with a hyphen",)
    return found


def port_number(number: int) -> Complaints:
    """A port from 1 to 65535."""
    return () if 1 <= number <= _PORT_MAX else (f"must be between 1 and {_PORT_MAX}, inclusive",)


def user_id(number: int) -> Complaints:
    """A user or group id."""
    return () if 0 <= number <= _ID_MAX else (f"must be between 0 and {_ID_MAX}, inclusive",)


def ip_address(text: str) -> Complaints:
    """An IPv4 or IPv6 address, without a zone."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return (_IP_TEXT,)
    return (_IP_TEXT,) if isinstance(address, ipaddress.IPv6Address) and address.scope_id else ()


def no_backsteps(path: str) -> Complaints:
    """A path that never goes up."""
    return ("must not contain '..'",) if ".." in path and ".." in path.split("/") else ()


def relative_path(path: str) -> Complaints:
    """A path below some directory."""
    return (("must be a relative path",) if path.startswith("/") else ()) + no_backsteps(path)
