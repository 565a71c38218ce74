"""Where a command and its daemon meet: a socket that only this user may open, one for each installation.

Imports next to nothing: every command looks here first.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
import zlib

import wellkept
from wellkept.cli.daemon import environment

_PRIVATE = 0o077
"""The rights that nobody else may have in the folder."""
_PEER_ON_MAC = (0, 1, 76)  # SOL_LOCAL, LOCAL_PEERCRED, sizeof(struct xucred): version, then the uid


def offered() -> bool:
    """Whether this system has what a daemon needs: fork, and Unix domain sockets that pass files on."""
    return hasattr(os, "fork") and hasattr(socket, "AF_UNIX") and hasattr(socket.socket, "sendmsg")


def folder() -> str:
    """The folder of the sockets; `mistrusted` says whether it can be used."""
    given = environment.runtime_folder()
    # Another user's folder, as after `sudo -E`, is left alone: what is made in it would lock that user out.
    if os.path.isabs(given) and (not os.path.exists(given) or os.stat(given).st_uid == os.geteuid()):
        return os.path.join(given, "wellkept")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches/TemporaryItems/wellkept")
    own = f"/run/user/{os.geteuid()}"
    return f"{own}/wellkept" if os.path.isdir(own) else f"/tmp/wellkept-{os.geteuid()}"


def mistrusted(path: str, *, socket_file: bool = False) -> str:
    """Why a folder or socket is not used: it is somebody else's, or open to others; empty when it is fine.

    Raises:
        FileNotFoundError: It is not there.
    """
    found = os.lstat(path)
    if found.st_uid != os.geteuid():
        return "it belongs to another user"
    if socket_file:
        return "" if stat.S_ISSOCK(found.st_mode) else "it is no socket"
    if not stat.S_ISDIR(found.st_mode):
        return "it is no folder"
    return "others have rights in it" if found.st_mode & _PRIVATE else ""


def identity() -> bytes:
    """What a daemon must have in common with a command: this installation, interpreter and view of the files."""
    package = wellkept.__file__ or ""
    return "\n".join(
        [
            wellkept.__version__,
            package,
            str(os.stat(package).st_mtime_ns),
            sys.executable,
            sys.getfilesystemencoding(),
            _mounts(),
            *environment.of_the_interpreter(),
        ]
    ).encode("utf-8", "surrogateescape")


def socket_path() -> str:
    """The socket of the daemon of this installation; it may not be there."""
    return os.path.join(folder(), f"{wellkept.__version__}-{zlib.crc32(identity()):08x}.sock")


def peer_is_us(connection: socket.socket) -> bool:
    """Whether the other end runs as this user; where the system does not tell, the folder's rights must do."""
    try:
        if sys.platform == "darwin":
            told = connection.getsockopt(*_PEER_ON_MAC)[4:8]
        elif hasattr(socket, "SO_PEERCRED"):  # pid, uid, gid
            told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[4:8]
        else:
            return True
    except OSError:
        return False
    return int.from_bytes(told, sys.byteorder) == os.geteuid()


def _mounts() -> str:
    """The namespace of mounts: in another one the same path is another file."""
    try:
        return str(os.stat("/proc/self/ns/mnt").st_ino)
    except OSError:
        return ""
