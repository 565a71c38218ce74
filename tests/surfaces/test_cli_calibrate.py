"""`wellkept calibrate` (B-30): offline for built-in embedders, and stored for an endpoint."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from surfaces.command_line import Cli
from wellkept.core.judging.calibration import HASHING
from wellkept.models.hashing import HashingEmbedder
from wellkept.models.similarity.graded import shipped


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """A server on this machine that embeds by the hashing arithmetic."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
            made = HashingEmbedder().embed(texts)
            data = [{"index": place, "embedding": one.vector.tolist()} for place, one in enumerate(made)]
            body = json.dumps({"data": data}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1/embeddings?model=toy&dim=384"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_built_in_table_is_shown_and_stays_in_force(cli: Cli):
    told = cli.json("calibrate")
    assert told["embedder"] == HashingEmbedder.id
    assert told["thresholds"]["0.95"] == pytest.approx(HASHING.cosine(0.95), abs=0.001)
    assert set(told["thresholds"]) == {"0.98", "0.95", "0.90", "0.88", "0.85", "0.80", "0.65", "0.60"}
    assert told["stored"] == "" and 0 < told["error"]["grade"] < 0.5
    result = cli("calibrate")
    assert "raw cosine" in result.stdout and "Error on held-out pairs" in result.stdout
    assert "Nothing was stored" in result.stderr


def test_the_table_of_an_endpoint_is_kept_and_used_from_then_on(cli: Cli, endpoint: str, tmp_path: Path):
    told = cli.json("calibrate", "--embedder", endpoint)
    file = Path(told["stored"])
    assert file.parent == tmp_path / "data" / "wellkept" / "calibrations"
    kept = json.loads(file.read_text("utf-8"))
    assert (kept["embedder"], kept["pairs"], kept["own"]) == ("http/127.0.0.1/toy", shipped().hash, False)
    before = file.stat().st_mtime_ns
    for text in ("The export job writes CSV files.", "The export job writes big CSV files."):
        result = cli.json("remember", text, "--embedder", endpoint)
    assert result["matches"][0]["similarity"] != result["matches"][0]["cosine"]
    assert file.stat().st_mtime_ns == before


def test_pairs_of_ones_own_make_a_table_that_no_new_set_replaces(cli: Cli, endpoint: str, tmp_path: Path):
    own = tmp_path / "own.jsonl"
    rows = [{"a": pair.a, "b": pair.b, "grade": pair.grade} for pair in shipped().pairs[:400]]
    own.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    told = cli.json("calibrate", "--pairs", str(own), "--embedder", endpoint)
    assert json.loads(Path(told["stored"]).read_text("utf-8"))["own"] is True
    assert told["pairs"] + sum(told["left_out"].values()) == 400


@pytest.mark.parametrize("content", [None, "", "no json\n"])
def test_a_file_of_pairs_that_cannot_serve_is_a_named_error(cli: Cli, tmp_path: Path, content: str | None):
    own = tmp_path / "own.jsonl"
    if content is not None:
        own.write_text(content, "utf-8")
    told = cli.json("calibrate", "--pairs", str(own), code=1)
    assert told["error"]["type"] == "InvalidField" and "own.jsonl" in told["error"]["where"]
