"""From a remote's URL to the key of its repository, ``host/path`` (SPEC §2).

Two roads that agree: forms plain enough that the WHATWG rules leave them as they are go by regular expressions,
everything else by ada-url, which is imported only then. The tests hold the two against each other.
"""

from __future__ import annotations

import re
from typing import Final

#: The schemes of usable remotes, aliases with what they stand for.
_SCHEMES: Final = {
    "http": "http",
    "https": "https",
    "ssh": "ssh",
    "git": "git",
    "git+ssh": "ssh",
    "git+https": "https",
}
_C0_AND_SPACE: Final = "".join(map(chr, range(0x21)))
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
#: ``ext::…`` and its like name another transport, whatever follows.
_TRANSPORT = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")
#: A last label that starts with a letter cannot be taken for a number, and so the host not for an IPv4 address.
_PLAIN_HOST = re.compile(r"(?:[A-Za-z0-9_-]+\.)*[A-Za-z][A-Za-z0-9_-]*")
_PLAIN_URL = re.compile(
    r"(?:https?|ssh|git|git\+ssh|git\+https)://"
    r"(?:[A-Za-z0-9._~%!$&*+,;=:@-]*@)?"
    r"(?P<host>[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>(?:/[A-Za-z0-9._~+@-]*)+)"
)
_SCP_BRACKETED = re.compile(r"(?:[^/:\[\]]*@)?\[(?P<inside>[^\]/]*)\]:(?P<path>.*)", re.DOTALL)
_SCP = re.compile(r"(?P<authority>[^/:\[\]]*):(?P<path>.*)", re.DOTALL)
_HOST_AND_PORT = re.compile(r"([^:\[\]]+)(?::[0-9]*)?")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def remote_key(url: str) -> str | None:
    """``host/path`` of a usable remote, else ``None`` (a local path, ``file://``, another scheme, an empty path)."""
    url = _LONE_SURROGATE.sub("\ufffd", url)
    stripped = url.strip(_C0_AND_SPACE)
    scheme = _SCHEME.match(stripped)
    if scheme is None:
        return None if _TRANSPORT.match(url) else _scp_key(url)
    if scheme.group(1).lower() not in _SCHEMES:
        return None
    plain = _plain_key(stripped)
    return plain if plain is not None else _whatwg_key(stripped)


def _plain_key(url: str) -> str | None:
    """The key of a URL that needs no rules; ``None`` says nothing but that it is not plain."""
    matched = _PLAIN_URL.fullmatch(url)
    if matched is None:
        return None
    host, port, path = matched.group("host", "port", "path")
    if not _is_plain_host(host) or int(port or 0) > 0xFFFF or {".", ".."} & set(path.split("/")):
        return None
    return _key(host.lower(), path)


def _whatwg_key(url: str) -> str | None:
    """The key by the WHATWG URL rules, or ``None`` where they refuse the URL."""
    import ada_url  # noqa: PLC0415

    scheme, rest = url.split("://", 1)
    try:
        parsed = ada_url.URL(f"{_SCHEMES[scheme.lower()]}://{rest}")
    except ValueError:
        return None
    # Hosts of ssh and git are opaque to those rules; ours go by the rules of https in every form.
    return _key(_ascii_host(parsed.hostname), parsed.pathname)


def _scp_key(url: str) -> str | None:
    bracketed = _SCP_BRACKETED.fullmatch(url)
    if bracketed is not None:
        host = _bracketed_host(bracketed.group("inside"))
        return None if host is None else _key(host, bracketed.group("path"))
    matched = _SCP.fullmatch(url)
    if matched is None:
        return None
    return _key(_ascii_host(matched.group("authority").rpartition("@")[2]), matched.group("path"))


def _bracketed_host(inside: str) -> str | None:
    """An IPv6 address keeps its brackets; ``[user@host:port]`` is git's short form for a host with a port."""
    address = _whatwg_host(f"[{inside}]")
    if address is not None:
        return address
    named = _HOST_AND_PORT.fullmatch(inside.rpartition("@")[2])
    return None if named is None else _ascii_host(named.group(1))


def _ascii_host(host: str) -> str:
    """Lower-case, IDN as punycode; what the rules refuse (an SSH alias may be anything) only lower-case."""
    if _is_plain_host(host):
        return host.lower()
    return _whatwg_host(host) or host.lower()


def _is_plain_host(host: str) -> bool:
    return _PLAIN_HOST.fullmatch(host) is not None and "xn--" not in host.lower()


def _whatwg_host(host: str) -> str | None:
    if not host or any(char in "/\\?#@" for char in host):
        return None
    import ada_url  # noqa: PLC0415

    try:
        return ada_url.URL(f"https://{host}/").hostname or None
    except ValueError:
        return None


def _key(host: str, path: str) -> str | None:
    path = path.strip("/")
    if path[-4:].lower() == ".git":
        path = path[:-4]
    if not host or all(segment in ("", ".", "..") for segment in path.split("/")):
        return None
    return f"{host}/{path}"
