"""Where a server listens: on this machine alone unless there are tokens, on any free port if asked."""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import socket
from collections.abc import Iterable

from wellkept.errors import ConfigError, WellkeptError

_BACKLOG = 2_048
_NO_PORT = "Choose another --port, or 0 for any free port"
_NO_HOST = "Choose an address of this machine as --host, such as 127.0.0.1"
_NAME = re.compile(r"[^\s/:@?#\[\]*]+")


def is_loopback(host: str) -> bool:
    """Whether a name leads to this machine and nowhere else.

    A name that leads to several addresses has to do so with each; one that leads nowhere does not.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("")
        (True, True, False, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM) if host else []
    except (OSError, UnicodeError):
        return False
    return bool(found) and all(ipaddress.ip_address(str(one[4][0]).partition("%")[0]).is_loopback for one in found)


def refuse_to_be_open(host: str, *, tokens: bool) -> None:
    """Keep a store from being open to a whole network.

    Args:
        host: Where the server is to listen.
        tokens: Whether there is a token that opens anything.

    Raises:
        ConfigError: The host is not this machine alone, and nobody would be asked for a token.
    """
    if not tokens and not is_loopback(host):
        raise ConfigError(
            "there is no valid token; without tokens anyone who can reach this address could read and change the store",
            where=f"--host {host}"[:200],
            todo="Create a token with `wellkept token create`, or listen on 127.0.0.1",
        )


def host_names(names: Iterable[str], *, tokens: bool) -> tuple[str, ...]:
    """Names that clients call the server by, as the `Host` of their requests is compared with.

    Args:
        names: As said on the command line; `*` is any.
        tokens: Whether requests are asked for one.

    Raises:
        ConfigError: One is no name, and would never be met; or any is allowed and nobody is asked for a token.

    Example:
        >>> host_names(["Memory.example.org", "[::1]"], tokens=False)
        ('memory.example.org', '::1')
    """
    return tuple(_host_name(name.strip().lower(), tokens=tokens) for name in names)


def _host_name(name: str, *, tokens: bool) -> str:
    where = f"--allowed-host {name}"[:200]
    if name == "*":
        if not tokens:  # a page may point a name of its own at this machine, and its browser then calls us by it
            what = "without tokens any page in a browser on this machine could read and change the store"
            raise ConfigError(
                what, where=where, todo="Give the host names, or create a token with `wellkept token create`"
            )
        return name
    address = name.removeprefix("[").removesuffix("]")
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        if _NAME.fullmatch(name):
            return name
    raise ConfigError(
        "is not a host name", where=where, todo="Write only the name, such as memory.example.org, without port"
    )


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound; requests wait in it until the server takes them.

    Raises:
        WellkeptError: The address is taken, not this machine's, or not permitted.
    """
    where = f"{host}:{port}"[:200]
    try:
        # The protocol is named because asyncio sends small answers without delay only on sockets that name it:
        # else the rest of an answer waits 40 ms for the receipt of its beginning.
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        family, kind, protocol, _, address = found[0]
        bound = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError, OverflowError) as error:
        raise _refused(error, where) from error
    try:
        if os.name == "posix":  # elsewhere it would let two servers share a port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        raise _refused(error, where) from error
    return bound


def _refused(error: Exception, where: str) -> WellkeptError:
    why = getattr(error, "strerror", None) or str(error)
    nowhere = isinstance(error, socket.gaierror | UnicodeError) or getattr(error, "errno", 0) == errno.EADDRNOTAVAIL
    return WellkeptError(f"cannot listen: {why}", where=where, todo=_NO_HOST if nowhere else _NO_PORT)


def address_of(bound: socket.socket) -> str:
    """The address of a server as a client writes it.

    Example:
        >>> with listen("127.0.0.1", 0) as bound:
        ...     address_of(bound).startswith("http://127.0.0.1:")
        True
    """
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
