"""The file of the table of places: read again when it changes, replaced as a whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from wellkept.errors import Busy, ConfigError
from wellkept.storage.placement.table import Table, table_from, text_of

_Stamp = tuple[int, int, int]


class TableFile:
    """A table of places in a file, which other processes may change.

    Args:
        path: The file.

    Raises:
        ConfigError: It is missing, cannot be read, or is no table of places.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock = Lock()
        self._known: tuple[_Stamp, Table] | None = None
        self.table()

    def table(self) -> Table:
        """The current table; the file is read only when it was changed.

        Raises:
            ConfigError: As when it is opened.
        """
        try:
            found = self.path.stat()
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            with self._lock:
                if self._known is None or self._known[0] != stamp:
                    text = self.path.read_text(encoding="utf-8-sig")
                    self._known = (stamp, table_from(text, where=str(self.path)))
                return self._known[1]
        except OSError as error:
            raise ConfigError(
                f"the table of places cannot be read: {error.strerror}", where=str(self.path), todo="Check the path"
            ) from error
        except UnicodeDecodeError as error:
            raise ConfigError("is not UTF-8", where=str(self.path), todo="Save it as UTF-8") from error

    def check(self) -> None:
        """Check that the table can be replaced.

        Raises:
            ConfigError, Busy: As `change`.
        """
        with self._alone(), self._draft(""):
            pass

    def change(self, edit: Callable[[Table], Table]) -> None:
        """Replace the table; two commands that change it do so one after the other. Comments are not kept.

        Raises:
            ConfigError: The file cannot be written.
            Busy: Another command changes it.
        """
        with self._alone(), self._draft(text_of(edit(self.table()))) as draft:
            draft.replace(os.path.realpath(self.path))

    @contextmanager
    def _draft(self, text: str) -> Iterator[Path]:
        """The table's next content in a file beside it, which is removed at the end."""
        target = Path(os.path.realpath(self.path))
        draft = target.with_name(f".{target.name}.tmp")  # one command at a time changes the table
        try:
            # Addresses may hold passwords.
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with open(descriptor, "w", encoding="utf-8") as out:
                os.fchmod(out.fileno(), target.stat().st_mode & 0o777)
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            yield draft
        except OSError as error:
            raise self._unwritable(error) from error
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        import fcntl

        beside = self.path.with_name(self.path.name + ".lock")
        try:
            with beside.open("a") as held:
                try:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    raise Busy(
                        "another command changes the table of places", where=str(self.path), todo="Repeat it"
                    ) from error
                yield
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> ConfigError:
        return ConfigError(
            f"the table of places cannot be written: {error.strerror}", where=str(self.path), todo="Check its folder"
        )
