"""Logs of a server contain no texts of memories (issue 6, security)."""

from __future__ import annotations

import logging

import pytest

from wellkept.server.serving.private_logging import Wordless, wordless

SECRET = "Alice lives in Nairobi"


@pytest.fixture(autouse=True)
def as_in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers of other tests in this process have set these loggers up for themselves."""
    for name in ("uvicorn", "uvicorn.error", "mcp", "fastapi"):
        logger = logging.getLogger(name)
        monkeypatch.setattr(logger, "propagate", True)
        monkeypatch.setattr(logger, "handlers", [])
        monkeypatch.setattr(logger, "disabled", False)
        monkeypatch.setattr(logger, "level", logging.NOTSET)


def test_a_fault_is_logged_with_its_places_and_without_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    with wordless():
        try:
            try:
                raise ValueError(SECRET)
            except ValueError as error:
                raise RuntimeError(f"while writing {SECRET}") from error
        except RuntimeError:
            logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
    text = capsys.readouterr().err
    assert SECRET not in text
    assert "Exception in ASGI application" in text
    assert "RuntimeError" in text
    assert "ValueError" in text
    assert "test_wordless.py" in text


@pytest.mark.parametrize("name", ["mcp.server.streamable_http", "asyncio", "fastapi"])
def test_a_warning_of_a_library_is_logged_by_its_place(capsys: pytest.CaptureFixture[str], name: str) -> None:
    with wordless():
        logging.getLogger(name).warning("cannot read %s", SECRET)
    text = capsys.readouterr().err
    assert SECRET not in text
    assert name in text


def test_after_the_block_nothing_is_formatted_any_more() -> None:
    before = list(logging.getLogger().handlers)
    with wordless():
        assert isinstance(logging.getLogger().handlers[-1].formatter, Wordless)
    assert logging.getLogger().handlers == before
