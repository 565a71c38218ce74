"""A chat model that answers questions, against a real server on this machine that misbehaves on purpose."""

from __future__ import annotations

import gzip
import json
import time

import pytest

from chat_server import ChatServer, says, status
from stores import desk
from undecided import ASKS, offices
from wellkept.core.asking.for_model import as_data, schema_of
from wellkept.errors import ConfigError, ModelResponseInvalid, ModelUnavailable
from wellkept.models.answering.chat import ChatAnswerer
from wellkept.models.answering.client import text_of, version

KEY = "sk-secret-123"


@pytest.fixture
def server():
    running = ChatServer(answers("new"))
    yield running
    running.close()


@pytest.fixture
def table(tmp_path):
    made = desk("memory", tmp_path, policy=ASKS)
    yield made
    made.store.close()


def ids_in(request):
    return list(json.loads(request["messages"][-1]["content"]))


def answers(text, **usage):
    """A model that gives every question this answer."""

    def play(request):
        code, body, headers = says(json.dumps({one: text for one in ids_in(request)}))
        return code, json.dumps({**json.loads(body), **({"usage": usage} if usage else {})}).encode(), headers

    return play


def message(*blocks, stop="end_turn", **usage):
    """A message of Anthropic's interface."""
    told = {"type": "message", "role": "assistant", "content": blocks, "stop_reason": stop, "usage": usage}
    return 200, json.dumps(told).encode(), {}


def client(server, query="", **options):
    options = {"model": "small"} | options
    made = ChatAnswerer(server.url.removesuffix("/chat/completions") + query, **options)
    made.endpoint.sleep = lambda _: None
    return made


# --------------------------------------------------------------------------------------------
# What is sent


def test_a_batch_is_one_request_bound_to_the_answers_of_its_questions(server, table):
    questions = offices(table, 3)
    made = client(server, api_key=KEY)
    assert made(questions) == {one.id: "new" for one in questions}
    (request,) = server.requests
    assert request == {
        "model": "small",
        "temperature": 0,
        "max_tokens": ChatAnswerer.max_tokens,
        "stream": False,
        "messages": [
            {"role": "system", "content": text_of(ChatAnswerer.prompt)},
            {"role": "user", "content": as_data(questions)},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answers", "strict": True, "schema": schema_of(questions)},
        },
    }
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert made.id == f"chat/127.0.0.1/small/{ChatAnswerer.prompt}-{version(ChatAnswerer.prompt)}"


def test_anthropics_interface_gets_the_schema_as_a_tool(server, table):
    questions = offices(table, 2)
    told = {questions[0].id: "new", questions[1].id: "replaces 1"}
    block = {"type": "tool_use", "id": "t", "name": "answers", "input": told}
    server.script = [lambda _: message(block, input_tokens=700, output_tokens=30)]
    made = client(server, api="anthropic", api_key=KEY)
    assert made(questions) == told and made.tokens == 730
    (request,) = server.requests
    assert request["system"] == text_of(ChatAnswerer.prompt) and request["max_tokens"] == ChatAnswerer.max_tokens
    assert request["messages"] == [{"role": "user", "content": as_data(questions)}]
    assert request["tools"][0]["input_schema"] == schema_of(questions)
    assert request["tool_choice"] == {"type": "tool", "name": "answers"}
    assert server.headers[0]["x-api-key"] == KEY and "authorization" not in server.headers[0]
    assert server.headers[0]["anthropic-version"]


def test_anthropics_text_counts_too(server, table):
    questions = offices(table, 1)
    server.script = [lambda _: message({"type": "text", "text": f'{{"{questions[0].id}": "new"}}'})]
    assert client(server, api="anthropic")(questions) == {questions[0].id: "new"}


@pytest.mark.parametrize(
    ("url", "api", "asked"),
    [
        ("", None, "/v1/chat/completions"),
        ("/", None, "/v1/chat/completions"),
        ("/v1", None, "/v1/chat/completions"),
        ("/v1/", None, "/v1/chat/completions"),
        ("/openai/v1?api-version=3", None, "/openai/v1/chat/completions?api-version=3"),
        ("/v1/chat/completions?model=other", None, "/v1/chat/completions"),
        ("/v1", "anthropic", "/v1/messages"),
        ("/v1/messages", None, "/v1/messages"),
    ],
)
def test_the_address_is_completed(server, table, url, api, asked):
    server.script = [lambda _: message({"type": "text", "text": "{}"}) if "messages" in asked else says("{}")]
    host = server.url.partition("/v1")[0]
    assert ChatAnswerer(host + url, model="m", api=api)(offices(table, 1)) == {}
    assert server.paths == [asked]


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("ftp://host/v1", {"model": "m"}),
        ("localhost:8080/v1", {"model": "m"}),
        ("http://[", {"model": "m"}),
        ("http://host/v1", {}),
        ("http://host/v1?max_tokens=0", {"model": "m"}),
        ("http://host/v1?seconds=soon", {"model": "m"}),
        ("http://host/v1", {"model": "m", "budget": 0}),
    ],
)
def test_what_cannot_be_asked_is_said_at_once(url, options):
    with pytest.raises(ConfigError):
        ChatAnswerer(url, **options)


def test_what_is_for_this_machine_passes_no_proxy(server, table, monkeypatch):
    """A proxy of the environment is another machine: the texts would leave this one."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://proxy.example:3128")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert len(client(server)(offices(table, 1))) == 1 and len(server.requests) == 1


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        ("http://localhost:8080", True),
        ("http://LOCALHOST", True),
        ("http://127.0.0.1", True),
        ("http://127.8.9.1", True),
        ("http://[::1]:8080", True),
        ("http://localhost.example", False),
        ("http://127.0.0.1.example", False),
        ("http://127.0.0.1@example.com", False),
        ("http://10.0.0.7", False),
        ("http://0.0.0.0", False),
        ("https://api.openai.com/v1", False),
    ],
)
def test_only_loopback_is_this_machine(url, is_local):
    assert ChatAnswerer(url, model="m").endpoint.local is is_local


# --------------------------------------------------------------------------------------------
# What it costs


def test_no_request_is_sent_that_may_exceed_the_budget(server, table):
    """The server tells what it used; where it does not, the estimate counts."""
    offices(table, 25)
    server.script = [answers("new", prompt_tokens=1_900, completion_tokens=100)]
    made = client(server, budget=6_000)
    report = table.store.answer_with(made)
    assert made.is_spent and made.tokens == report.tokens == 2_000 * len(server.requests) <= 6_000
    assert len(report.answered) == sum(len(ids_in(request)) for request in server.requests) < 25
    assert len(table.store.questions(limit=None)) == 25 - len(report.answered) == len(report.left)


def test_a_smaller_batch_is_sent_where_the_whole_one_does_not_fit(server, table):
    questions = offices(table, 10)
    made = client(server)
    made = client(server, budget=made.estimate(questions[:4]))
    assert made(questions).keys() == {one.id for one in questions[:4]} and made.is_spent


def test_a_budget_too_small_for_one_question_sends_nothing(server, table):
    offices(table, 2)
    report = table.store.answer_with(client(server, budget=100))
    assert report.answered == () and len(report.left) == 2 and server.requests == []


@pytest.mark.parametrize(
    "usage", [{}, {"prompt_tokens": -5, "completion_tokens": 1}, {"prompt_tokens": True, "completion_tokens": True},
              {"prompt_tokens": 10**30, "completion_tokens": 1}, {"prompt_tokens": 0, "completion_tokens": 0}]
)  # fmt: skip
def test_usage_that_cannot_be_true_counts_as_the_estimate(server, table, usage):
    questions = offices(table, 2)
    server.script = [answers("new", **usage)]
    made = client(server)
    made(questions)
    assert made.tokens == made.estimate(questions)


# --------------------------------------------------------------------------------------------
# Servers that misbehave


def refusing_schema(code):
    return lambda request: status(code)(request) if "response_format" in request else answers("new")(request)


@pytest.mark.parametrize("code", [400, 422, 500, 501])
def test_a_server_that_refuses_the_schema_is_asked_once_more_and_then_without_it(server, table, code):
    offices(table, 12)
    server.script = [refusing_schema(code)]
    made = client(server, "?retries=0")
    assert len(table.store.answer_with(made).answered) == 12
    assert ["response_format" in request for request in server.requests] == [True, False, False]


@pytest.mark.parametrize("code", [401, 403, 404, 429, 503])
def test_another_refusal_is_no_question_of_the_schema(server, table, code):
    server.script = [status(code)]
    with pytest.raises(ModelUnavailable):
        client(server, "?retries=0")(offices(table, 1))
    assert len(server.requests) == 1


PATIENCE = 0.5
"""Seconds for an answer, where it takes longer."""


def slow(_):
    time.sleep(2 * PATIENCE)
    return says("{}")


LARGE = 10 << 20
BAD = {
    "slow": (slow, ModelUnavailable),
    "busy": (status(503), ModelUnavailable),
    "refusing": (status(401), ModelUnavailable),
    "without the model": (status(404), ModelUnavailable),
    "refusing both ways": (status(400), ModelUnavailable),
    "redirecting": (status(302, location="http://127.0.0.1:9/v1/chat/completions"), ModelUnavailable),
    "of another kind": (lambda _: (200, b"<html>Welcome</html>", {"content-type": "text/html"}), ModelResponseInvalid),
    "empty": (lambda _: (200, b"", {}), ModelResponseInvalid),
    "truncated": (lambda _: (200, says("{}")[1][:40], {}), ModelResponseInvalid),
    "no UTF-8": (lambda _: (200, b"\xff\xfe{}", {}), ModelResponseInvalid),
    "another form": (lambda _: (200, b'{"choices": []}', {}), ModelResponseInvalid),
    "a list": (lambda _: (200, b"[]", {}), ModelResponseInvalid),
    "large": (lambda _: (200, b" " * LARGE, {}), ModelResponseInvalid),
    "packed": (lambda _: (200, gzip.compress(b" " * LARGE), {"content-encoding": "gzip"}), ModelResponseInvalid),
    "deep": (lambda _: (200, b"[" * 500_000, {}), ModelResponseInvalid),
}
SILENT = {
    "in words": lambda _: says("I would rather not."),
    "refusing politely": lambda _: says(None, refusal="No."),
    "a number": lambda _: says(7),
    "deep inside": lambda _: says('{"a":' * 100_000),
    "cut off": lambda _: says('{"q2": "new", "q4": "repl'),
    "about other questions": lambda _: says('{"q998": "new", "q999": "replaces 1"}'),
    "every question twice": lambda request: says("{" + ", ".join(f'"{k}": "new"' for k in ids_in(request) * 2) + "}"),
    "no answers": answers("replaces everything"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_bad_server_is_a_typed_error_that_names_no_secret_and_nothing_changes(server, table, name, api):
    play, error = BAD[name]
    offices(table, 3)
    before = table.snapshot()
    server.script = [play]
    seconds = PATIENCE if play is slow else 60  # unpacking takes longer than half a second on a busy machine
    with pytest.raises(error) as caught:
        table.store.answer_with(client(server, f"?seconds={seconds}&retries=0", api=api, api_key=KEY))
    assert "127.0.0.1, model small" in str(caught.value) and KEY not in str(caught.value)
    assert table.snapshot() == before and len(table.store.questions()) == 3


@pytest.mark.parametrize("name", SILENT)
def test_a_model_that_gives_no_answer_leaves_every_question_open(server, table, name):
    offices(table, 3)
    before = table.snapshot()
    server.script = [SILENT[name]]
    report = table.store.answer_with(client(server))
    assert report.answered == () and len(report.left) == 3
    assert table.snapshot() == before and len(table.store.questions()) == 3


def test_an_answer_cut_off_at_its_limit_says_what_to_do(server, table, caplog):
    code, body, headers = says('{"q2": "new", "q')
    cut = body.replace(b'"finish_reason": "stop"', b'"finish_reason": "length"')
    server.script = [lambda _: (code, cut, headers)]
    assert client(server)(offices(table, 2)) == {}
    assert "cut off at 1024 tokens" in caplog.text and "max_tokens=N" in caplog.text


def test_a_passing_failure_is_asked_again(server, table):
    server.script = [status(503), status(429, retry_after="0"), answers("new")]
    assert len(client(server)(offices(table, 2))) == 2 and len(server.requests) == 3


def test_an_outage_in_the_middle_keeps_the_answers_before_it(server, table):
    offices(table, 25)
    server.script = [answers("new"), answers("new"), status(503)]
    with pytest.raises(ModelUnavailable):
        table.store.answer_with(client(server, "?retries=0"))
    assert len(table.store.questions(limit=None)) == 5
    server.script = [answers("new")]
    assert len(table.store.answer_with(client(server)).answered) == 5
