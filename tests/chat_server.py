"""A chat endpoint on this machine that answers as a test wants: well, badly, slowly or not at all."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, bytes, dict[str, str]]
Play = Callable[[dict[str, Any]], Reply]


def says(content: Any, **message: Any) -> Reply:
    """A chat completion with this content."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content, **message}}
    return 200, json.dumps({"id": "1", "object": "chat.completion", "choices": [choice]}).encode(), {}


def verdict(word: str) -> Play:
    """A model that always says this."""
    return lambda _: says(json.dumps({"verdict": word}))


def status(code: int, **headers: str) -> Play:
    """A refusal whose body quotes the key, as some servers do."""
    return lambda _: (code, b'{"error": "bad key sk-secret-123"}', {k.replace("_", "-"): v for k, v in headers.items()})


class ChatServer:
    """Answers each call by the next script entry; the last one repeats."""

    def __init__(self, *script: Play) -> None:
        self.script: list[Play] = list(script) or [verdict("conflict")]
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append(request)
                outer.paths.append(self.path)
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                play = outer.script.pop(0) if len(outer.script) > 1 else outer.script[0]
                code, body, headers = play(request)
                try:
                    self.send_response(code)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True  # the caller gave up, as some tests want

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1/chat/completions"
        serving = {"target": self._server.serve_forever, "kwargs": {"poll_interval": 0.02}}
        threading.Thread(daemon=True, **serving).start()

    def asked(self) -> list[dict[str, str]]:
        """The pairs that were sent, as the model saw them."""
        return [json.loads(request["messages"][1]["content"]) for request in self.requests]

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
