"""From a setting to a judge."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tiny_nli
from wellkept.errors import ConfigError, ModelUnavailable
from wellkept.models.judges.timeboxed import TimeBoxed
from wellkept.models.registry import load_judge

CHAT = "https://h.example/v1/chat/completions"


@pytest.mark.parametrize("spec", [None, "", "none", " NONE "])
def test_without_a_word_there_is_no_judge(spec):
    assert load_judge(spec) is None


def test_a_path_names_an_nli_model(tmp_path):
    folder = tiny_nli.write(tmp_path / "Tiny Model", labels={"0": "contradiction"})
    judge = load_judge(f"NLI:{folder}?longest=64&seconds=9")
    assert isinstance(judge, TimeBoxed)
    assert judge.id.startswith("nli/Tiny Model@")
    assert judge.judge([("open", "shut")])[0] > 0.5


def test_options_of_an_nli_model_reach_it(tmp_path):
    folder = tiny_nli.write(tmp_path)
    assert load_judge(f"nli:{folder}?contradiction=1").judge([("open", "shut")])[0] < 0.5
    with pytest.raises(ModelUnavailable, match="not the known ones"):
        load_judge(f"nli:{folder}?contradiction=1&sha256={'0' * 64}")


def test_an_address_names_a_chat_model_and_what_is_not_ours_stays_in_it():
    judge = load_judge(f" {CHAT}?model=small&seconds=2&timeout=1&retries=0&max_tokens=9&json=1&api-version=3 ")
    assert isinstance(judge, TimeBoxed)
    assert judge.id == "chat/h.example/small/judge-prompt-v1"
    asked = judge._judge
    assert str(asked.endpoint._url) == f"{CHAT}?api-version=3"
    assert asked._asking["max_tokens"] == 9 and "response_format" in asked._asking


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("gpt", "'gpt'"),
        ("ftp://example.org/x", "none, nli:PATH, http"),
        (CHAT, "name of a model"),
        (f"{CHAT}?model=m&seconds=soon", "seconds must be a number"),
        (f"{CHAT}?model=m&seconds=0", "seconds must be above 0"),
        (f"{CHAT}?model=m&seconds=nan", "seconds must be above 0"),
        (f"{CHAT}?model=m&retries=many", "retries must be a whole number"),
        (f"{CHAT}?model=m&retries=99", "out of range"),
        (f"{CHAT}?model=m&max_tokens=0", "out of range"),
        ("http://?model=m", "http or https URL"),
        ("http://[::1?model=m", "cannot be read"),
        ("nli:", "needs a path"),
        ("nli:?contradiction=0", "needs a path"),
        ("nli:x?colour=red", "contradiction, longest, seconds, sha256"),
        ("nli:x?contradiction=first", "contradiction must be a whole number"),
        ("nli:x?longest=2", "out of range"),
    ],
)
def test_a_setting_that_cannot_be_used_is_a_typed_error(spec, said):
    with pytest.raises(ConfigError) as caught:
        load_judge(spec)
    assert said in str(caught.value)


def test_a_model_that_is_not_there_is_told_when_it_is_named(tmp_path):
    with pytest.raises(ModelUnavailable, match="tokenizer.json"):
        load_judge(f"nli:{tmp_path}")


@pytest.mark.parametrize(
    "spec", ["user:hunter2@host/v1", "http://user:hunter2@[::1?model=m", "https://u:hunter2@h/v1", "https://u:hunter2@"]
)
def test_a_password_in_a_setting_is_never_repeated(spec):
    with pytest.raises(ConfigError) as caught:
        load_judge(spec)
    assert "hunter2" not in str(caught.value)


def test_naming_no_judge_imports_no_heavy_module():
    program = (
        "import sys; from wellkept.models.registry import load_judge; load_judge('none');"
        "assert not {'numpy', 'onnxruntime', 'tokenizers', 'httpx2'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}, check=True)
