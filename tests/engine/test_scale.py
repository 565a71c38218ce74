"""An embedder without calibration is measured once, on first use, and never causes a failure (B-30, I7)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import wellkept
from wellkept.config import calibration_folder
from wellkept.core.judging.calibration import IDENTITY, UNCALIBRATED, Calibration
from wellkept.engine.models import scale as scale_module
from wellkept.errors import ConfigError, ModelUnavailable
from wellkept.models.hashing import HashingEmbedder
from wellkept.models.port import Embedded
from wellkept.models.similarity.graded import shipped
from wellkept.models.similarity.tables import Stored, Tables
from wellkept.testing.embedder import FakeEmbedder

PAIRS = len(shipped().texts)
STEEP = Calibration("steep", ((-1.0, -1.0), (0.5, 0.1), (1.0, 1.0)))


class Unmeasured:
    """An embedder like an endpoint: it has no calibration, and counts what it is sent."""

    lexical = False
    dim = 384
    calibration = UNCALIBRATED

    def __init__(self, name: str = "unmeasured/1") -> None:
        self.id = name
        self.sent = 0
        self.fails_above: int | None = None
        self._inner = HashingEmbedder()

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        self.sent += len(texts)
        if self.fails_above is not None and len(texts) > self.fails_above:
            raise ModelUnavailable("too many requests")
        return self._inner.embed(texts)


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


def two_writes(embedder: Unmeasured | FakeEmbedder) -> tuple[wellkept.WriteResult, wellkept.WriteResult]:
    with wellkept.open("memory:", embedder=embedder) as store:
        first = store.remember("The export job writes CSV files to the share.")
        second = store.remember("The export job writes CSV files to the new share.")
        return first, second


def test_it_is_measured_with_the_first_write_and_the_table_is_kept():
    embedder = Unmeasured()
    _, result = two_writes(embedder)
    assert embedder.sent == PAIRS + 2
    stored = Tables(calibration_folder()).get(embedder.id)
    assert stored is not None and stored.pairs == shipped().hash
    match = result.matches[0]
    assert match.similarity == stored.calibration.similarity(match.cosine) != match.cosine
    assert "calibration" not in result.degraded


def test_the_next_store_takes_the_kept_table_and_sends_nothing():
    two_writes(Unmeasured())
    again = Unmeasured()
    _, result = two_writes(again)
    assert again.sent == 2
    assert result.matches[0].similarity != result.matches[0].cosine


def test_a_table_that_was_stored_by_hand_is_used():
    Tables(calibration_folder()).put("unmeasured/1", Stored(STEEP, "mine", own=True))
    embedder = Unmeasured()
    _, result = two_writes(embedder)
    assert embedder.sent == 2
    assert result.matches[0].similarity == STEEP.similarity(result.matches[0].cosine)


def test_opening_recalling_and_append_only_kinds_send_no_pairs():
    embedder = Unmeasured()
    with wellkept.open("memory:", embedder=embedder) as store:
        store.remember("Sold half at 40.", kind="trade")
        store.recall("what was sold")
        store.list()
    assert 0 < embedder.sent < 10


def test_a_verbatim_repeat_needs_no_scale():
    embedder = Unmeasured()
    embedder.fails_above = 0
    with wellkept.open("memory:", embedder=embedder) as store:
        store.remember("Sold half at 40.")
        embedder.sent = 0
        assert store.remember("Sold half at 40.").outcome == "duplicate"
    assert embedder.sent == 0


@pytest.mark.parametrize("how", ["environment", "wellkept.toml"])
def test_it_can_be_switched_off(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    if how == "environment":
        monkeypatch.setenv("WELLKEPT_AUTO_CALIBRATE", "false")
    else:
        (tmp_path / how).write_text("auto_calibrate = false\n")
    embedder = Unmeasured()
    _, result = two_writes(embedder)
    assert embedder.sent == 2
    assert result.matches[0].similarity == result.matches[0].cosine
    assert "calibration" not in result.degraded  # what was chosen is not a fault


def test_a_switch_that_cannot_be_read_is_told_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WELLKEPT_AUTO_CALIBRATE", "maybe")
    with pytest.raises(ConfigError, match="auto_calibrate"):
        wellkept.open("memory:", embedder=Unmeasured())
    wellkept.open("memory:", embedder="hashing").close()


def test_when_measuring_fails_the_write_goes_on_and_says_so(monkeypatch: pytest.MonkeyPatch):
    """I7: the thresholds are nominal then; nothing is asked again for a while."""
    now = [1000.0]
    monkeypatch.setattr(scale_module.time, "monotonic", lambda: now[0])
    embedder = Unmeasured()
    embedder.fails_above = 10
    with wellkept.open("memory:", embedder=embedder) as store:
        first = store.remember("The export job writes CSV files to the share.")
        tried = embedder.sent
        second = store.remember("The export job writes CSV files to the new share.")
        assert "calibration" in first.degraded and "calibration" in second.degraded
        assert first.outcome == "created"
        assert second.matches[0].similarity == second.matches[0].cosine
        assert embedder.sent == tried + 1
        now[0] += scale_module.PAUSE_SECONDS
        embedder.fails_above = None
        third = store.remember("The export job writes CSV files to the old share.")
        assert "calibration" not in third.degraded
        assert third.matches[0].similarity != third.matches[0].cosine


def test_an_embedder_that_is_down_is_not_asked_a_thousand_things_more():
    embedder = Unmeasured()
    embedder.fails_above = 0
    result = two_writes(embedder)[1]
    assert embedder.sent == 2
    assert "embedding" in result.degraded


def test_a_foreign_error_while_measuring_is_no_exception_of_ours():
    class Breaks(Unmeasured):
        def embed(self, texts: Sequence[str]) -> list[Embedded]:
            if len(texts) > 10:
                raise RuntimeError("driver fault")
            return super().embed(texts)

    assert "calibration" in two_writes(Breaks())[0].degraded


def test_a_table_of_an_older_set_serves_until_the_new_one_is_there(monkeypatch: pytest.MonkeyPatch):
    tables = Tables(calibration_folder())
    tables.put("unmeasured/1", Stored(STEEP, "an older set"))
    embedder = Unmeasured()
    embedder.fails_above = 10
    result = two_writes(embedder)[1]
    assert result.matches[0].similarity == STEEP.similarity(result.matches[0].cosine)
    assert "calibration" in result.degraded
    two_writes(Unmeasured())
    stored = tables.get("unmeasured/1")
    assert stored is not None and stored.pairs == shipped().hash


def test_check_and_revise_and_the_sweep_measure_too():
    for act in ("check", "revise", "reembed"):
        embedder = Unmeasured(f"unmeasured/{act}")
        embedder.fails_above = 0
        with wellkept.open("memory:", embedder=embedder) as store:
            row = store.remember("The export job writes CSV files.").memory
            embedder.fails_above = None
            embedder.sent = 0
            match act:
                case "check":
                    store.check("The export job writes Parquet files.")
                case "revise":
                    store.revise(row.id, content="The export job writes Parquet files.")
                case _:
                    store.reembed()
        assert embedder.sent >= PAIRS, act


def test_an_injected_test_embedder_keeps_the_identity():
    """B-30: boundary tests meet exact numbers."""
    fake = FakeEmbedder({("tea at four", "tea at 4"): 0.9499})
    with wellkept.open("memory:", embedder=fake) as store:
        store.remember("tea at four", kind="lesson")
        result = store.remember("tea at 4", kind="lesson")
    assert fake.calibration is IDENTITY
    assert result.matches[0].similarity == 0.9499
    assert not calibration_folder().exists()
