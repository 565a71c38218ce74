"""Chromium, driven over WebDriver: a few commands as HTTP requests, so that the tests need no further package."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
CHROMEDRIVER = shutil.which("chromedriver")
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_SECONDS = 60


class Driver:
    """One window."""

    def __init__(self, http: httpx2.Client, session: str) -> None:
        self._http = http
        self._session = session

    def _ask(self, command: str, **fields: Any) -> Any:
        answer = self._http.post(f"/session/{self._session}/{command}", json=fields)
        found = answer.json()["value"]
        assert answer.status_code == 200, found
        return found

    def go(self, url: str) -> None:
        """Load a page."""
        self._ask("url", url=url)

    def run(self, script: str, *values: Any) -> Any:
        """Run a script in the page; `return` gives its result."""
        return self._ask("execute/sync", script=script, args=list(values))

    def wait(self, script: str, *values: Any) -> Any:
        """Repeat a script until its result counts as true."""
        until = time.monotonic() + _SECONDS
        while time.monotonic() < until:
            found = self.run(script, *values)
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"never true: {script}\n{self.text()[:2_000]}")

    def text(self) -> str:
        """What a person can read."""
        return str(self.run("return document.body.innerText"))

    def press(self, keys: str) -> None:
        """Press keys, one after the other, wherever the focus is."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._ask("actions", actions=[{"type": "key", "id": "keys", "actions": actions}])

    def click(self, selector: str, label: str = "") -> None:
        """Click the first element that fits a selector and has this label."""
        self._ask("execute/sync", args=[selector, label], script=_CLICK)

    def fill(self, selector: str, text: str) -> None:
        """Type into a field."""
        found = self._ask("element", using="css selector", value=selector)
        self._ask(f"element/{found[_ELEMENT]}/value", text=text)

    def like(self, *, width: int, height: int, dark: bool = False) -> None:
        """Look like a screen of this size and scheme."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._ask("goog/cdp/execute", cmd="Emulation.setDeviceMetricsOverride", params=size)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._ask("goog/cdp/execute", cmd="Emulation.setEmulatedMedia", params={"features": scheme})

    def complaints(self) -> list[str]:
        """What the browser has logged since it was last asked: refused scripts and styles, errors of scripts."""
        return [entry["message"] for entry in self._ask("se/log", type="browser")]

    def picture(self, *, quality: int) -> bytes:
        """The window as WebP."""
        found = self._ask(
            "goog/cdp/execute", cmd="Page.captureScreenshot", params={"format": "webp", "quality": quality}
        )
        return base64.b64decode(found["data"])


_CLICK = """
const [selector, label] = arguments;
const found = [...document.querySelectorAll(selector)].find((one) => !label || one.textContent.trim() === label);
if (!found) throw new Error(`no ${selector} ${label}`);
found.click();
"""


@contextmanager
def chromium() -> Iterator[Callable[[], Driver]]:
    """Opens windows of a headless Chromium, each with cookies of its own."""
    assert CHROMIUM and CHROMEDRIVER
    process = subprocess.Popen([CHROMEDRIVER, "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = next(found[1] for line in process.stdout if (found := re.search(r"successfully on port (\d+)", line)))
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"]
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": CHROMIUM, "args": flags},
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=_SECONDS) as http:
            opened: list[str] = []

            def window() -> Driver:
                answer = http.post("/session", json={"capabilities": {"alwaysMatch": wanted}})
                assert answer.status_code == 200, answer.text
                opened.append(answer.json()["value"]["sessionId"])
                return Driver(http, opened[-1])

            try:
                yield window
            finally:
                for session in opened:
                    http.delete(f"/session/{session}")
    finally:
        process.terminate()
        process.communicate(timeout=_SECONDS)
