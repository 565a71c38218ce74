"""Where tests put what need not outlive them."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")


def memory_folder() -> str | None:
    """Memory where there is plenty, else none: a commit to a disk is waited for, and tests commit tens of thousands."""
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 4 << 30:
        return str(MEMORY)
    return None


def move_into_memory() -> None:
    """Let temporary files of this process and of those it starts lie in memory, unless `TMPDIR` says where they lie."""
    memory = memory_folder()
    # Some tests install programs, which cannot start from everywhere.
    if memory is not None and "TMPDIR" not in os.environ and not os.statvfs(memory).f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = memory
