"""An NLI model from a file as a judge: its input, the contradiction class, and refused models."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
import time

import pytest

import tiny_nli
from tiny_nli import FIRST, INT32, INT64, SECOND, share
from wellkept.errors import ConfigError, ModelResponseInvalid, ModelUnavailable
from wellkept.models.judges import ending
from wellkept.models.judges.ending import Work
from wellkept.models.judges.nli import NliJudge, nli_relation
from wellkept.types import Memory, NewMemory

LABELS = {"0": "CONTRADICTION", "1": "entailment", "2": "neutral"}
# Two [SEP] add half a logit each to *neutral*; the mean of both orders is the answer.
SHUT = round((share(SECOND, 0, 1) + share(FIRST, 0, 1)) / 2, 4)
CALM = round(share(0, 0, 1), 4)


@pytest.fixture
def folder(tmp_path):
    return tiny_nli.write(tmp_path / "tiny", labels=LABELS)


def test_the_answer_is_the_mean_of_both_orders_and_does_not_depend_on_company(folder):
    """I4: the swapped pair is contradicted as much, and a pair alone as much as in a batch."""
    judge = NliJudge(folder)
    assert judge.judge([("open", "shut"), ("shut", "open"), ("open", "open")]) == [SHUT, SHUT, CALM]
    assert judge.judge([("open", "shut")]) == [SHUT]
    assert judge.judge([]) == []


@pytest.mark.parametrize(
    ("inputs", "integer", "length"),
    [
        (("input_ids", "attention_mask", "token_type_ids"), INT64, 0),
        (("input_ids", "attention_mask", "token_type_ids"), INT32, 0),
        (("input_ids", "attention_mask", "token_type_ids"), INT64, 24),
        (("ids", "mask", "segment_ids"), INT64, 0),
        (("input_ids", "input_mask", "segment_ids"), INT32, 12),
    ],
)
def test_names_types_and_a_fixed_length_of_the_inputs_are_found_out(tmp_path, inputs, integer, length):
    """Padding to a fixed length is masked, and so changes nothing."""
    tiny_nli.write(tmp_path, inputs=inputs, integer=integer, length=length, labels=LABELS)
    assert NliJudge(tmp_path).judge([("open", "shut")]) == [SHUT]


def test_a_model_that_takes_tokens_alone_works_whatever_the_input_is_called(tmp_path):
    tiny_nli.write(tmp_path, inputs=("pieces",), labels=LABELS)
    assert NliJudge(tmp_path).judge([("open", "shut")]) == [round(share(FIRST, 0, 1), 4)]


def test_an_input_that_is_no_text_is_refused_by_name(tmp_path):
    tiny_nli.write(tmp_path, inputs=("input_ids", "pixels"), labels=LABELS)
    with pytest.raises(ModelUnavailable, match="not text.*pixels"):
        NliJudge(tmp_path).judge([("open", "shut")])


@pytest.mark.parametrize(
    ("labels", "given", "found"),
    [
        ({"0": "entailment", "1": "neutral", "2": "Contradiction"}, None, share(1, 0, 0)),
        ({"0": "entailment", "1": "contradicts"}, None, share(0, 1, 0)),
        (LABELS, 2, share(1, 0, 0)),
        (None, 1, share(0, 1, 0)),
    ],
)
def test_the_meaning_of_an_output_comes_from_the_option_or_else_from_the_labels(tmp_path, labels, given, found):
    tiny_nli.write(tmp_path, labels=labels)
    assert NliJudge(tmp_path, contradiction=given).judge([("open", "open")]) == [round(found, 4)]


@pytest.mark.parametrize(
    "config",
    [
        None,
        "[]",
        "not json",
        "{}",
        '{"id2label": {"0": "LABEL_0", "1": "LABEL_1"}}',
        '{"id2label": {"0": "contradiction", "1": "contradiction"}}',
        '{"id2label": {"none": "contradiction"}}',
        '{"id2label": ["contradiction"]}',
    ],
)
def test_without_a_word_on_which_output_means_contradiction_nothing_is_guessed(folder, config):
    (folder / "config.json").unlink()
    if config is not None:
        (folder / "config.json").write_text(config, "utf-8")
    with pytest.raises(ConfigError, match="contradiction=0"):
        NliJudge(folder).check()


def test_an_output_that_the_model_has_not_is_an_error_and_no_answer(folder):
    with pytest.raises(ModelResponseInvalid, match="no output 7"):
        NliJudge(folder, contradiction=7).judge([("open", "shut")])


def test_numbers_that_are_not_finite_are_an_error_and_no_answer(folder):
    with pytest.raises(ModelResponseInvalid, match="no row of logits"):
        NliJudge(folder).judge([("open", "loud")])


@pytest.mark.parametrize(("words", "judged"), [(5, True), (6, False)])
def test_a_pair_that_is_too_long_is_not_judged_rather_than_cut(folder, words, judged):
    """A truncated part might contain the difference. Special tokens take three places."""
    told = NliJudge(folder, longest=12).judge([(" ".join(["open"] * 4), " ".join(["open"] * words))])
    assert told == [CALM if judged else None]


def test_a_fixed_length_bounds_what_is_judged(tmp_path):
    tiny_nli.write(tmp_path, length=8, labels=LABELS)
    assert NliJudge(tmp_path).judge([("open open", "open open open"), ("open open open", "open open open")]) == [
        CALM,
        None,
    ]


@pytest.mark.parametrize("text", ["open [SEP]", "open [CLS]", "open [PAD]", "open \ud800", "", "open \x00"])
def test_a_text_cannot_smuggle_in_a_boundary(folder, text):
    """Text is untrusted: "[SEP]" in a memory is a word like any other."""
    assert NliJudge(folder).judge([(text, "shut")]) == [SHUT]


@pytest.mark.parametrize(
    ("text", "told"), [("open", SHUT), ("open [SEP]", None), ("[PAD]", None), ("[CLS] open", None), ("[UNK]", SHUT)]
)
def test_where_the_vocabulary_holds_a_boundary_as_a_word_such_a_text_is_not_judged(folder, text, told):
    (folder / "tokenizer.json").write_text(tiny_nli.tokenizer(whole=True).to_str(), "utf-8")
    judge = NliJudge(folder)
    assert judge.judge([(text, "shut"), ("shut", text)]) == [told, told]


def test_the_file_itself_and_the_layout_of_model_hubs_are_understood(tmp_path):
    tiny_nli.write(tmp_path / "hub", labels=LABELS)
    (tmp_path / "hub" / "onnx").mkdir()
    (tmp_path / "hub" / "model.onnx").rename(tmp_path / "hub" / "onnx" / "model.onnx")
    for path in (tmp_path / "hub", tmp_path / "hub" / "onnx" / "model.onnx"):
        assert NliJudge(path).judge([("open", "shut")]) == [SHUT]


def test_the_id_names_the_weights(folder):
    digest = hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest()
    assert NliJudge(folder).id == f"nli/tiny@{digest[:8]}"
    assert NliJudge(folder, sha256=digest.upper()).judge([("open", "shut")]) == [SHUT]


@pytest.mark.parametrize("verb", ["check", "judge"])
def test_other_weights_than_the_known_ones_are_refused(folder, verb):
    judge = NliJudge(folder, sha256="0" * 64)
    with pytest.raises(ModelUnavailable, match="not the known ones"):
        judge.check() if verb == "check" else judge.judge([("open", "shut")])


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(ModelUnavailable, match=name.replace(".", r"\.")):
        NliJudge(folder).check()


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 50, b"[" * 5000])
def test_a_damaged_file_is_an_error_of_ours(folder, name, content):
    (folder / name).write_bytes(content)
    with pytest.raises(ModelUnavailable):
        NliJudge(folder).judge([("open", "shut")])


@pytest.mark.parametrize("options", [{"longest": 7}, {"contradiction": -1}])
def test_numbers_out_of_range_are_refused_at_once(folder, options):
    with pytest.raises(ConfigError, match="out of range"):
        NliJudge(folder, **options)


def test_threads_share_one_model(folder):
    judge = NliJudge(folder)
    told = []
    threads = [threading.Thread(target=lambda: told.append(judge.judge([("open", "shut")]))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [[SHUT]] * 6


ENDS_EARLY = """
import sys, time
from wellkept.errors import ModelUnavailable
from wellkept.models.judges import ending
from wellkept.models.judges.ending import Work
from wellkept.models.judges.nli import NliJudge
from wellkept.models.judges.timeboxed import TimeBoxed

try:
    TimeBoxed(NliJudge(sys.argv[1]), seconds=0.3).judge([("open", "shut")])
except ModelUnavailable as error:
    print("late" if "within" in str(error) else error)
"""


def test_a_program_that_ends_while_the_model_runs_ends_cleanly_and_soon(tmp_path):
    """A thread inside a native library would abort the process on its way out."""
    tiny_nli.write(tmp_path, labels=LABELS, slow=400)
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", ENDS_EARLY, str(tmp_path)],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "late\n"), done.stderr
    assert time.monotonic() - started < 30, "400 products take longer than that"


def test_after_the_end_nothing_begins_and_what_is_under_way_is_told_to_stop():
    work, stopped = Work(), []
    with work.under_way(lambda: stopped.append("told")), pytest.MonkeyPatch.context() as patched:
        patched.setattr(ending, "PATIENCE", 0.01)
        work.end()
    assert stopped == ["told"]
    with pytest.raises(ModelUnavailable, match="ending"), work.under_way(lambda: None):
        pass


def test_a_child_process_does_not_wait_for_its_parents_work(monkeypatch):
    work = Work()
    stopped = []
    with work.under_way(lambda: stopped.append("told")):
        monkeypatch.setattr(ending.os, "getpid", lambda: -1)
        work.end()
        monkeypatch.undo()
    assert stopped == []


@pytest.mark.parametrize(("at", "found"), [(SHUT - 0.01, True), (SHUT + 0.01, False)])
def test_it_serves_as_a_contradiction_function_too(folder, at, found):
    """S2-24, and the plug of `wellkept eval --nli`."""
    old = NewMemory(content="open")
    memory = Memory(content="shut", id="1", namespace="n", created_at=None, updated_at=None)
    assert nli_relation(folder, at=at)(memory, old) is found


def test_a_contradiction_function_of_a_file_that_is_not_there_is_refused_at_once(tmp_path):
    with pytest.raises(ModelUnavailable):
        nli_relation(tmp_path / "none")


def test_the_fixture_is_small(folder):
    assert (folder / "model.onnx").stat().st_size < 5_000
    assert json.loads((folder / "tokenizer.json").read_text("utf-8"))["padding"], "the switch to turn off is there"
