"""The listening address: loopback only unless tokens exist, and any free port on request."""

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
    """Whether a host name resolves to this machine only.

    All addresses of a name must be loopback addresses; a name that does not resolve is not loopback.

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
    """Prevent a server without tokens from listening on a network.

    Args:
        host: The listening host.
        tokens: Whether an active token exists.

    Raises:
        ConfigError: The host is not loopback, and no token would be required.
    """
    if not tokens and not is_loopback(host):
        raise ConfigError(
            "there is no valid token; without tokens anyone who can reach this address could read and change the store",
            where=f"--host {host}"[:200],
            todo="Create a token with `wellkept token create`, or listen on 127.0.0.1",
        )


def host_names(names: Iterable[str], *, tokens: bool) -> tuple[str, ...]:
    """Validate the accepted host names, which are compared with the `Host` header of requests.

    Args:
        names: Names from the command line; `*` accepts any.
        tokens: Whether requests require a token.

    Raises:
        ConfigError: A name is invalid and could never match; or `*` is given and no token is required.

    Example:
        >>> host_names(["Memory.example.org", "[::1]"], tokens=False)
        ('memory.example.org', '::1')
    """
    return tuple(_host_name(name.strip().lower(), tokens=tokens) for name in names)


def _host_name(name: str, *, tokens: bool) -> str:
    where = f"--allowed-host {name}"[:200]
    if name == "*":
        if not tokens:  # by DNS rebinding, a page could reach the server under a name of its own
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
    """A bound socket; connections wait in it until the server accepts them.

    Raises:
        WellkeptError: The address is in use, not local, or not permitted.
    """
    where = f"{host}:{port}"[:200]
    try:
        # asyncio disables Nagle's algorithm only on sockets with an explicit protocol. Otherwise the rest of an answer
        # waits up to 40 ms for the acknowledgement of its beginning.
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        family, kind, protocol, _, address = found[0]
        bound = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError, OverflowError) as error:
        raise _refused(error, where) from error
    try:
        if os.name == "posix":  # on other systems it would let two servers share a port
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
    """The address of a server in the form that clients use.

    Example:
        >>> with listen("127.0.0.1", 0) as bound:
        ...     address_of(bound).startswith("http://127.0.0.1:")
        True
    """
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
