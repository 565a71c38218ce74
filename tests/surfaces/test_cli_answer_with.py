"""`wellkept answer --with`: what is said before texts are sent, where they may go, and what is left afterwards."""

from __future__ import annotations

import json

import pytest

from chat_server import ChatServer, says, status
from wellkept.config import personal_file

PAIRS = (
    ("The standup is at ten.", "Standup starts half an hour earlier."),
    ("Ana leads billing.", "Billing is led by Bo."),
)
MINILM = ("--embedder", "minilm")
KEY = "sk-secret-123"


def answers(text):
    def play(request):
        return says(json.dumps(dict.fromkeys(json.loads(request["messages"][1]["content"]), text)))

    return play


@pytest.fixture
def server():
    running = ChatServer(answers("replaces 1"))
    yield running
    running.close()


@pytest.fixture
def asked(cli, monkeypatch):
    """A store with questions: their number."""
    (cli.folder / "policy.toml").write_text("ask = 100", "utf-8")
    monkeypatch.setenv("WELLKEPT_POLICY", str(cli.folder / "policy.toml"))
    texts = [text for pair in PAIRS for text in pair]
    found = [cli.json("remember", text, *MINILM).get("question") for text in texts]
    assert any(found), "no question was asked"
    return sum(one is not None for one in found)


def command(server, *more):
    url = server.url.removesuffix("/chat/completions")
    return ("answer", "--with", f"{url}?retries=0", "--model", "small", *MINILM, *more)


def test_host_number_and_cost_are_said_before_the_first_request(cli, server, asked):
    result = cli(*command(server))
    assert f"Sends {asked} question" in result.stderr and "to 127.0.0.1 in 1 request: at most about" in result.stderr
    assert f"{asked} question" in result.stdout and "0 left open" in result.stdout and "(undo " in result.stdout
    assert len(server.requests) == 1
    again = cli(*command(server))
    assert "There is no question to ask" in again.stderr and len(server.requests) == 1


def test_what_was_taken_back_is_sent_again_only_on_request(cli, server, asked):
    cli(*command(server))
    cli("undo", "--by", "answers", *MINILM)
    result = cli(*command(server), code=3)
    assert "There is no question to ask" in result.stderr and f"{asked} left open" in result.stdout
    assert "taken back" in result.stdout and len(server.requests) == 1
    assert cli.json(*command(server, "--again"))["left"] == {} and len(server.requests) == 2


def test_json_is_the_report(cli, server, asked):
    told = cli.json(*command(server))
    assert [one["answer"] for one in told["answered"]] == ["replaces 1"] * asked
    assert told["left"] == {} and told["tokens"] > 0
    entry = cli.rows("journal", *MINILM)[-1]
    assert any(reason["rule"] == "answered_with" and "small" in reason["detail"] for reason in entry["reasons"])


def test_a_dry_run_prints_the_prompt_and_sends_nothing(cli, server, asked):
    shown = cli(*command(server, "--dry-run")).stdout
    assert "You keep the long-term memory" in shown and '"text": "The standup' in shown
    assert server.requests == [] and cli.json(*command(server))["answered"]


def test_questions_that_stay_open_are_findings(cli, server, asked):
    server.script = [answers("replaces 9")]
    result = cli(*command(server), code=3)
    assert "left open: there is no candidate 9" in result.stdout and f"{asked} left open" in result.stdout


def test_a_budget_too_small_is_said_and_nothing_is_sent(cli, server, asked):
    result = cli(*command(server, "--tokens", "200"), code=3)
    assert "the budget is 200" in result.stderr and "allows no further question" in result.stderr
    assert server.requests == []


def test_an_outage_is_an_error_that_names_no_key(cli, server, asked, monkeypatch):
    monkeypatch.setenv("WELLKEPT_ANSWER_KEY", KEY)
    server.script = [status(503)]
    result = cli(*command(server), code=1)
    assert "answered 503" in result.stderr and KEY not in result.stderr + result.stdout
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert cli.json(*command(server), code=1)["error"]["type"] == "ModelUnavailable"


def elsewhere(*more):
    return ("answer", "--with", "https://models.example/v1", "--model", "m", *MINILM, *more)


def test_texts_leave_the_machine_only_with_leave(cli, asked, monkeypatch):
    """The connection itself fails: tests reach no other machine."""
    error = cli.json(*elsewhere(), code=1)["error"]
    assert (
        error["type"] == "ConfigError" and error["where"] == "models.example" and "WELLKEPT_ASK_SEND" in error["todo"]
    )
    assert cli(*elsewhere("--dry-run")).stdout
    monkeypatch.setenv("WELLKEPT_ASK_SEND", "any")
    monkeypatch.setattr("wellkept.models.endpoints.endpoint.Endpoint.post", lambda *_, **__: says("{}")[1])
    result = cli(*elsewhere(), code=3)
    assert "to models.example in 1 request" in result.stderr


def test_your_own_file_gives_leave_and_a_projects_file_does_not(cli, asked, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(cli.folder / "home"))
    monkeypatch.setattr("wellkept.models.endpoints.endpoint.Endpoint.post", lambda *_, **__: says("{}")[1])
    (cli.folder / "wellkept.toml").write_text('[ask]\nsend = "any"', "utf-8")
    assert "a project's file must not" in cli(*elsewhere(), code=1).stderr
    (cli.folder / "wellkept.toml").unlink()
    personal_file().parent.mkdir(parents=True, exist_ok=True)
    personal_file().write_text('[ask]\nsend = "any"', "utf-8")
    cli(*elsewhere(), code=3)
    (cli.folder / "wellkept.toml").write_text('[ask]\nsend = "loopback"', "utf-8")
    assert "would leave this machine" in cli(*elsewhere(), code=1).stderr, "the nearer file wins"


@pytest.mark.parametrize("text", ['[ask]\nsend = "all"', '[ask]\nsent = "any"', "ask = 10", "[ask]\nsend = true"])
def test_a_wrong_setting_is_told(cli, text):
    (cli.folder / "wellkept.toml").write_text(text, "utf-8")
    assert "wellkept.toml" in cli("stats", code=1).stderr


def test_options_of_a_model_without_an_endpoint_are_a_usage_error(cli):
    assert "--with" in cli("answer", "--model", "tiny", code=2).stderr


# ---- the job of a worker ----


def work(server, *more):
    url = server.url.removesuffix("/chat/completions")
    return ("work", "--once", "--answer-with", f"{url}?retries=0", "--answer-model", "small", *MINILM, *more)


def test_a_worker_answers_questions_only_if_a_model_is_named(cli, server, asked):
    assert "answer" not in cli("work", "--once", *MINILM).stdout
    refused = cli("work", "--once", "--jobs", "answer", *MINILM, code=2)
    assert "--answer-with" in refused.stderr and server.requests == []
    result = cli(*work(server))
    assert "Sends open questions to 127.0.0.1: at most 20,000 tokens" in result.stderr
    assert f"answer  done  answered {asked}" in result.stdout and len(server.requests) == 1
    assert cli.rows("questions", *MINILM) == []
    assert "answer" not in cli(*work(server)).stdout and len(server.requests) == 1
    cli("undo", "--by", "answers", *MINILM)
    cli("jobs", "put", "answer", *MINILM)
    cli(*work(server))
    assert len(server.requests) == 1, "what was taken back is not asked again"


def test_the_budget_of_a_run_is_kept(cli, server, asked):
    assert "answer  done" in cli(*work(server, "--answer-tokens", "200")).stdout
    assert server.requests == []


def test_a_worker_sends_nothing_to_another_machine_without_leave(cli, asked):
    options = ("work", "--once", "--answer-with", "https://models.example/v1", "--answer-model", "m", *MINILM)
    assert cli.json(*options, code=1)["error"]["where"] == "models.example"
    for more in (("--ahead",), ("--answer-limit", "0"), ("--answer-tokens", "0")):
        cli(*options, *more, code=2 if more != ("--ahead",) else 1)
