"""`wellkept open` as a process: its link, and what is left when it is killed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import httpx2

import wellkept
from surfaces.serving.running import ROOT, SECONDS, surroundings


def test_a_link_opens_the_page_once_and_a_killed_server_loses_no_decision(tmp_path: Path) -> None:
    db = tmp_path / "page.db"
    with wellkept.open(str(db), embedder="hashing", relation_model="none") as store:
        store.remember("The limit is 0.85.", kind="lesson")
        store.remember("The limit is 0.95.", kind="lesson")
    command = [sys.executable, "-m", "wellkept.cli", "--db", str(db), "--embedder", "hashing", "open", "--json"]
    settings = {"PYTHONPATH": str(ROOT / "src"), "WELLKEPT_RELATION_MODEL": "none", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*command, "--no-browser"], stdout=subprocess.PIPE, text=True, env={**surroundings(), **settings}
    )
    try:
        assert process.stdout is not None
        link = json.loads(process.stdout.readline())["link"]
        with httpx2.Client(timeout=SECONDS, follow_redirects=True) as http:
            page = http.get(link)
            assert page.status_code == 200 and "These two contradict each other" in page.text
            form = page.text.partition("do/resolve")[2]
            fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
            assert fields["resolution"]
            root = link.partition("/page/")[0]
            done = http.post(f"{root}/page/do/resolve", data={**fields, "resolution": "keep_both", "back": ""})
            assert "Done:" in done.text
            assert httpx2.get(link).status_code == 403
            assert httpx2.get(f"{root}/v1/memories").status_code == 401
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)
    with wellkept.open(str(db), embedder="hashing", relation_model="none") as store:
        assert store.conflicts() == () and len(store.list()) == 2
