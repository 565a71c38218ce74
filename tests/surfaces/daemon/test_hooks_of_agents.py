"""Hooks through a daemon: they give the same, and start one for the next hook."""

from __future__ import annotations

import json

from adapters.transcript_files import written
from surfaces.daemon.daemons import Place, until

QUICK = {"WELLKEPT_EMBEDDER": "hashing", "WELLKEPT_RELATION_MODEL": "none"}


def test_a_daemon_runs_the_hooks_of_a_session_in_the_namespace_of_its_project(served: Place) -> None:
    project = served.folder / "shop"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    log = written(served.folder / "logs", "claude-code")
    call = json.dumps({"session_id": "s1", "cwd": str(project / "src"), "transcript_path": str(log)}).encode()
    general = ("--db", str(served.folder / "a.db"), "--namespace", "@project")
    assert served.handed_over(*general, "hook", "session-start", stdin=call, **QUICK).stdout == b""
    for hook in ("session-end", "take-in"):
        done = served.handed_over("--quiet", *general, "hook", hook, stdin=call, **QUICK)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    told = json.loads(served.handed_over(*general, "hook", "session-start", stdin=call, **QUICK).stdout)
    assert "pytest -n 0" in told["hookSpecificOutput"]["additionalContext"]
    namespaces = served.alone("--db", str(served.folder / "a.db"), "namespaces").stdout.decode()
    assert namespaces.startswith("project/shop-") and len(namespaces.split()) == 1


def test_a_hook_starts_a_daemon_for_the_next_one_unless_that_is_off(place: Place) -> None:
    place.stop()
    hook = ("--db", str(place.folder / "a.db"), "hook", "session-start")
    assert place.alone(*hook, stdin=b"{}", **QUICK).returncode == 0
    assert not place.pid()
    assert place.run(*hook, stdin=b"{}", **QUICK).returncode == 0
    until(place.pid)
    assert place.handed_over(*hook, stdin=b"{}").returncode == 0
