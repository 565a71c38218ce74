"""The packaged relation model: one answer for one pair, mirrored, silent where it cannot read, absent without harm.

No particular probability stands here: the golden set in `tests/golden` shows those.
"""

from __future__ import annotations

import importlib
import os
import random
import shutil
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wellkept
from examples import examples
from wellkept.core.judging.list_head import ReadTwice
from wellkept.errors import ModelUnavailable
from wellkept.models import multilingual, relation
from wellkept.models.registry import load_relation_model
from wellkept.models.relation import PackagedRelationModel
from wellkept.models.tokenizer.pairs import shares
from wellkept.policy import DEFAULT_KINDS, Policy, Risk
from wellkept.testing.embedder import FakeEmbedder
from wellkept.types import NewMemory, Opinion

LABELS = ("same", "refines", "generalises", "conflict", "distinct")
PAIRS = [
    ("The office is in Berlin.", "The office is located in Berlin."),
    ("She works at Acme.", "Globex hired her in May."),
    ("Deploys are started by hand.", "Since March the pipeline ships every merge by itself."),
    ("Backups run at night.", "Backups run every night at 02:00 on the old server."),
    ("Marta is allergic to peanuts.", "The invoice template lives in the shared drive."),
    ("Das Treffen ist am Montag.", "Das Treffen wurde auf Dienstag verschoben."),
    ("Le train part à huit heures.", "Le départ du train est à 8 h."),
    ("Релиз выходит в пятницу.", "Релиз перенесли на понедельник."),
    ("v1.5.2-rc1 drops TLS 1.0", "x = 3 * (y - 2)"),
    ("Use tabs.", "Never use tabs; four spaces everywhere, please, and no trailing blanks at all in any file."),
]


@pytest.fixture(scope="module")
def model() -> PackagedRelationModel:
    return PackagedRelationModel()


def values(told: Opinion | None) -> tuple[float, ...] | None:
    return None if told is None else tuple(getattr(told, label) for label in LABELS)


def fresh(**options: int) -> Callable[[str, str], Opinion | None]:
    """The model loaded anew, remembering nothing; `options` go to the session."""

    def session(content: Any, *_: Any, **__: Any) -> Any:
        ort = importlib.import_module("onnxruntime")
        made = ort.SessionOptions()
        for name, value in options.items():
            setattr(made, name, value)
        return ort.InferenceSession(bytes(content), made, providers=["CPUExecutionProvider"])

    with pytest.MonkeyPatch.context() as patch:
        if options:
            patch.setattr(relation, "mapped_session", session)
        loaded: Any = relation._load.__wrapped__(relation.WEIGHTS, 0)
    opinion: Callable[[str, str], Opinion | None] = loaded.opinion
    return opinion


# --------------------------------------------------------------------------------------------
# One pair, one answer (I4)


def test_a_pair_has_the_same_opinion_alone_and_in_any_company(model: PackagedRelationModel) -> None:
    alone = {pair: fresh()(*pair) for pair in PAIRS[:3]}  # each by a model that has read nothing else
    for seed in range(2):
        order = PAIRS * 2
        random.Random(seed).shuffle(order)
        opinion = fresh()
        assert {pair: opinion(*pair) for pair in order if pair in alone} == alone
        told = dict(zip(order, model.read(order), strict=True))
        assert {pair: told[pair] for pair in alone} == alone


def test_one_thread_or_two_make_no_difference() -> None:
    one, two = fresh(intra_op_num_threads=1), fresh(intra_op_num_threads=2)
    assert [one(*pair) for pair in PAIRS] == [two(*pair) for pair in PAIRS]


def test_several_callers_at_once_get_the_same_answers(model: PackagedRelationModel) -> None:
    expected = model.read(PAIRS)
    shared = fresh()
    seen: list[list[Opinion | None]] = []

    def work() -> None:
        seen.append([shared(*pair) for pair in PAIRS])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [expected] * 4


def test_another_process_gives_the_same_answers(model: PackagedRelationModel) -> None:
    code = (
        "import sys\n"
        "from wellkept.models.relation import PackagedRelationModel\n"
        f"sys.stdout.write(repr(PackagedRelationModel().read({PAIRS[:4]!r})))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == repr(model.read(PAIRS[:4]))


@pytest.mark.parametrize("pair", PAIRS, ids=[str(place) for place in range(len(PAIRS))])
def test_the_swapped_pair_has_the_mirrored_opinion(model: PackagedRelationModel, pair: tuple[str, str]) -> None:
    """Design §5: exactly, so that no decision hangs on who was first."""
    there, back = model.read([pair, pair[::-1]])
    assert there is not None
    assert back == replace(there, refines=there.generalises, generalises=there.refines)


def test_an_opinion_is_five_probabilities_that_make_one(model: PackagedRelationModel) -> None:
    for told in model.read(PAIRS):
        assert told is not None
        shares = values(told)
        assert shares is not None
        assert all(0.0 <= share <= 1.0 and share == round(share, 4) for share in shares)
        assert sum(shares) == pytest.approx(1.0, abs=3e-4)
        assert told.model == model.id


def test_the_id_names_what_the_card_adds_to_an_opinion(model: PackagedRelationModel) -> None:
    """The journal keeps opinions under it; bounds and heads are applied to what is kept."""
    card = relation._settings(relation.WEIGHTS)
    assert model.id.endswith(f"/{relation.fitted(card)[:8]}")
    named = {part for part in card if relation.fitted({**card, part: []}) != relation.fitted(card)}
    assert named == {"scale", "bias", "pieces", "multilingual"}


def test_blatant_pairs_stand_in_the_right_order(model: PackagedRelationModel) -> None:
    same, update, night, apart = (model.read([PAIRS[place]])[0] for place in (0, 2, 3, 4))
    assert same and update and night and apart
    assert same.repeats > max(update.repeats, night.repeats, apart.repeats)
    assert apart.distinct > max(same.distinct, night.distinct)
    assert night.refines > max(same.refines, apart.refines)
    assert update.conflict > max(same.conflict, apart.conflict)


@pytest.mark.parametrize("risk", get_args(Risk))
def test_strict_never_asks_for_less_than_balanced(model: PackagedRelationModel, risk: Risk) -> None:
    """Issue item 4: a policy names its risk, and the model's card the probabilities for it."""
    bounds, strict = model.bounds(risk), model.bounds("strict")
    for act in ("skip", "link", "evolve", "flag", "supersede"):
        assert 0.0 < getattr(bounds, act) <= getattr(strict, act) <= 2.0
    assert bounds.flag <= bounds.supersede
    assert bounds.link <= bounds.skip


# --------------------------------------------------------------------------------------------
# A new text beside several older ones

NEW = "Nothing on Monday: the meeting moved to Tuesday, in the small room."
OLDER = (
    "The meeting is on Monday.",
    "The small room has no projector.",
    "Ana takes the minutes of the meeting.",
    "Das Treffen ist am Montag.",
    "Tea is at four.",
)


def test_a_list_has_the_same_opinions_in_any_order_and_in_any_company(model: PackagedRelationModel) -> None:
    [expected] = model.read_lists([(NEW, OLDER)])
    told = dict(zip(OLDER, expected, strict=True))
    for seed in range(3):
        order = random.Random(seed).sample(OLDER, len(OLDER))
        lists = [("Tea is at five.", OLDER[-2:]), (NEW, order), (NEW, OLDER[:2]), (NEW, order)]
        found = model.read_lists(lists)
        assert found[1] == found[3] == [told[text] for text in order]
        assert len(found[0]) == len(found[2]) == 2


def test_a_text_given_twice_has_one_opinion(model: PackagedRelationModel) -> None:
    [told] = model.read_lists([(NEW, (*OLDER, OLDER[0]))])
    assert told[0] == told[-1]
    assert [told[:-1]] == model.read_lists([(NEW, OLDER)])


def test_what_is_not_clearly_distinct_is_read_again_alone(model: PackagedRelationModel) -> None:
    [told] = model.read_lists([(NEW, OLDER)])
    assert told[0] is not None
    assert told[-1] is not None
    assert isinstance(told[0], ReadTwice)
    assert all(one.conflict > one.distinct for one in (told[0], told[0].first, told[0].second))
    assert type(told[-1]) is Opinion
    assert told[-1].distinct > told[-1].conflict


def test_what_is_not_english_is_read_by_both_networks(model: PackagedRelationModel) -> None:
    older = ("Das Treffen ist am Montag.", "Tea is at four.")
    [told] = model.read_lists([("Das Treffen wurde auf Dienstag verschoben.", older)])
    loaded = relation._load(relation.WEIGHTS, os.getpid())
    of_english = loaded._english.listed("Das Treffen wurde auf Dienstag verschoben.", older)
    for text, opinion in zip(older, told, strict=True):
        assert isinstance(opinion, ReadTwice)
        assert opinion.first == loaded._opinion(loaded._english.calibrated(of_english[text]))
        assert opinion.first != opinion.second


def test_what_is_not_english_and_not_clearly_distinct_is_read_alone_by_the_network_for_it(
    model: PackagedRelationModel,
) -> None:
    """The heads see this reading; the opinion stays the mean of the two in the list."""
    new, older = "Das Treffen wurde auf Dienstag verschoben.", ("Das Treffen ist am Montag.", "Tea is at four.")
    [[moved, tea]] = model.read_lists([(new, older)])
    network = relation._load(relation.WEIGHTS, os.getpid())._multilingual()
    assert isinstance(moved, ReadTwice) and isinstance(tea, ReadTwice)
    alone = shares(network.calibrated(network.alone(older[0], new)))
    assert moved.third is not None
    assert [moved.third.of(label) for label in LABELS] == [round(float(share), 4) for share in alone]
    assert moved.conflict > moved.distinct
    assert tea.distinct >= network.clearly and tea.third is None


def test_beside_an_english_text_only_the_older_texts_in_other_languages_are_read_again(
    model: PackagedRelationModel,
) -> None:
    older = ("Tea is at four.", "Das Treffen ist am Montag.", "The bakery sells bread.")
    [told] = model.read_lists([("The meeting moved to Tuesday.", older)])
    assert [isinstance(opinion, ReadTwice) for opinion in told] == [False, True, False]


def test_english_is_read_while_the_network_for_other_languages_is_loaded(model: PackagedRelationModel) -> None:
    told: list[Any] = []
    reading = threading.Thread(target=lambda: told.append(model.read(PAIRS[:1])), daemon=True)
    with relation._LOADING_MULTILINGUAL:
        reading.start()
        reading.join(60)
        assert told == [model.read(PAIRS[:1])]


@pytest.mark.parametrize(
    ("old", "new"),
    [("ฉันชอบกาแฟใส่น้ำตาล", "ฉันชอบกาแฟไม่ใส่น้ำตาล"), ("ቡና እወዳለሁ", "ቡና አልወድም"), ("房租每月三千元。", "ฉันชอบกาแฟ")],
)
def test_of_a_script_that_was_never_learnt_nothing_is_said(model: PackagedRelationModel, old: str, new: str) -> None:
    assert model.read_lists([(new, [old])]) == [[None]]
    assert model.read([(old, new)]) == [None]


@pytest.mark.parametrize(
    ("written", "form"),
    [("월세는 한 달에 오십만 원이다.", "NFD"), ("오늘은 비가 온다.", "NFKD"), ("ｶﾞｿﾘﾝ ﾊ ﾀｶｲ", "NFKC")],
)
def test_another_form_of_the_same_signs_is_read_alike(
    model: PackagedRelationModel, written: str, form: Literal["NFD", "NFKD", "NFKC"]
) -> None:
    other, old = unicodedata.normalize(form, written), "家賃は月に三万円です。"
    assert other != written
    [[one], [two]] = model.read_lists([(written, [old]), (other, [old])])
    assert one is not None and one == two


@pytest.mark.parametrize(
    ("old", "same", "update"),
    [
        ("房租每月三千元。", "每个月的房租为三千元。", "从五月起房租涨到四千元。"),
        ("家賃は月に三万円です。", "毎月の家賃は三万円だ。", "五月から家賃は四万円になった。"),
    ],
)
def test_a_script_that_the_network_for_english_cannot_spell_is_judged(
    model: PackagedRelationModel, old: str, same: str, update: str
) -> None:
    [[repeat], [change]] = model.read_lists([(same, [old]), (update, [old])])
    assert repeat and change
    assert repeat.repeats > max(repeat.conflict, repeat.distinct)
    assert change.conflict > repeat.conflict


@pytest.mark.parametrize("text", ["", "!!! ???", "𓀀𓀁𓀂 𓁐𓁑", "word " * 300, "\ud800"])
def test_a_text_it_cannot_read_changes_nothing_in_a_list(model: PackagedRelationModel, text: str) -> None:
    expected = model.read_lists([(NEW, OLDER)])[0]
    told, nothing = model.read_lists([(NEW, (text, *OLDER)), (text, OLDER)])
    assert told == [None, *expected]
    assert nothing == [None] * len(OLDER)


def test_a_list_too_long_for_one_row_is_read_in_several(model: PackagedRelationModel) -> None:
    long = [f"Room {number}: " + "chairs and tables and lamps, " * 12 for number in range(12)]
    [told] = model.read_lists([(NEW, [*OLDER, *long])])
    assert None not in told
    assert [told] == model.read_lists([(NEW, [*OLDER, *long])])


# --------------------------------------------------------------------------------------------
# What it cannot read


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "!!! ???", "👍👍", "𓀀𓀁𓀂 𓁐𓁑", "𒀀𒁀𒂀", "\u200b\u200c\ufeff", "word " * 300, "a" * 20_000, "\ud800"],
    ids=["empty", "blank", "marks", "emoji", "hieroglyphs", "cuneiform", "invisible", "long", "one word", "surrogate"],
)
def test_of_a_text_it_cannot_read_it_says_nothing(model: PackagedRelationModel, text: str) -> None:
    """No opinion for an unreadable text, in both positions; other pairs of the batch are answered."""
    told = model.read([(text, "The office is in Berlin."), PAIRS[0], ("The office is in Berlin.", text)])
    assert told[0] is told[2] is None
    assert told[1] is not None


_PIECES = [
    *("[SEP]", "[CLS]", "[PAD]", "[UNK]", "[MASK]", "##ing", "<s>", "\x00", "½", "ﷺ", "é", "İ"),
    *("e\u0301\u0301", "１２３", "not", "5", "\u202e", "%s", "{}", "\\"),
]
_HOSTILE = st.one_of(
    st.text(max_size=80),
    st.text(st.characters(categories=["Cc", "Cf", "Cs", "Co", "Mn", "So"]), max_size=40),
    st.lists(st.sampled_from(_PIECES), max_size=30).map(" ".join),
    st.integers(0, 400).map(lambda size: "ab " * size),
)


@examples(40, 120)
@given(_HOSTILE, _HOSTILE)
def test_no_text_makes_it_fail(old: str, new: str) -> None:
    """Text is untrusted."""
    model = PackagedRelationModel()
    there, back = model.read([(old, new), (new, old)])
    assert (there is None) == (back is None)
    [told] = model.read_lists([(new, (old, "Tea is at four.", new))])
    assert (told[0] is None) == (there is None)
    shares = values(there)
    if shares is not None:
        assert sum(shares) == pytest.approx(1.0, abs=3e-4)


def test_the_names_of_frame_pieces_are_words_like_any_other(model: PackagedRelationModel) -> None:
    """A memory cannot end its own text and begin the other's."""
    plain, forged = model._folder, "The office is in Berlin. [SEP] The office is in Berlin."
    assert plain is None
    for network in (relation._load(relation.WEIGHTS, 0)._english, relation._multilingual(relation.WEIGHTS, 0)):
        assert network.reader._end not in network.reader.read(forged).pieces


def test_no_pairs_and_no_lists_cost_nothing() -> None:
    assert PackagedRelationModel(Path("nowhere")).read([]) == []
    assert PackagedRelationModel(Path("nowhere")).read_lists([]) == []


# --------------------------------------------------------------------------------------------
# Missing or damaged


@pytest.fixture
def copied(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "relation"
    shutil.copytree(
        relation.WEIGHTS,
        folder,
    )
    yield folder
    relation._load_multilingual.cache_clear()
    multilingual._tokenizer.cache_clear()
    multilingual._table.cache_clear()
    relation._settings.cache_clear()
    relation._checked.cache_clear()


def flip(path: Path) -> None:
    blob = bytearray(path.read_bytes())
    blob[len(blob) // 2] ^= 1
    path.write_bytes(blob)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize("name", ["relation.onnx", "relation.json"])
@pytest.mark.parametrize("harm", [flip, cut, Path.unlink], ids=["one bit", "cut short", "deleted"])
def test_a_damaged_file_is_named_and_nothing_is_judged_by_it(
    copied: Path, monkeypatch: pytest.MonkeyPatch, name: str, harm: Callable[[Path], None]
) -> None:
    """I7: with `packaged` an error names what and where; with `auto` rules alone judge, and the result says so.

    `auto` does not read 25 MB before somebody asks: it finds damaged weights when it loads them, which is an outage.
    """
    harm(copied / name)
    with pytest.raises(ModelUnavailable) as failure:
        PackagedRelationModel(copied).check()
    assert str(copied / name) in str(failure.value)
    assert "relation model" in str(failure.value)
    assert "Reinstall wellkept" in str(failure.value)
    monkeypatch.setattr(relation, "WEIGHTS", copied)
    with pytest.raises(ModelUnavailable, match=name):
        load_relation_model("packaged")
    found = load_relation_model("auto")
    assert (found is not None) == (name == "relation.onnx" and harm is not Path.unlink)
    assert_rules_alone()


@pytest.mark.parametrize("name", ["multilingual.onnx", multilingual.PIECES, multilingual.VECTORS])
@pytest.mark.parametrize("harm", [flip, cut], ids=["one bit", "cut short"])
def test_damage_to_the_network_for_other_languages_is_an_outage_for_the_writes_that_need_it(
    copied: Path, monkeypatch: pytest.MonkeyPatch, name: str, harm: Callable[[Path], None]
) -> None:
    """I7: nothing is lost, and the result says what was not asked."""
    harm(copied / name)
    with pytest.raises(ModelUnavailable) as failure:
        PackagedRelationModel(copied).check()
    assert str(copied / name) in str(failure.value)
    assert "Reinstall wellkept" in str(failure.value)
    monkeypatch.setattr(relation, "WEIGHTS", copied)
    german = ("Das Büro ist in Berlin.", "Das Büro befindet sich in Berlin.")
    with wellkept.open("memory:", embedder=FakeEmbedder({german: 0.97, PAIRS[0]: 0.97})) as store:
        told = [store.remember(text, kind="lesson") for text in (*german, *PAIRS[0])]
    assert [result.outcome for result in told] == ["created", "created", "created", "restated"]
    assert [result.degraded for result in told] == [(), ("relation",), (), ()]


@pytest.mark.parametrize("harm", [flip, Path.unlink], ids=["one bit", "deleted"])
def test_in_a_batch_only_the_texts_that_need_a_damaged_network_are_not_judged(
    copied: Path, monkeypatch: pytest.MonkeyPatch, harm: Callable[[Path], None]
) -> None:
    """I7: what becomes of a text does not depend on those that are written with it."""
    harm(copied / "multilingual.onnx")
    monkeypatch.setattr(relation, "WEIGHTS", copied)
    german = ("Das Büro ist in Berlin.", "Das Büro befindet sich in Berlin.")
    embedder, model = FakeEmbedder({german: 0.97, PAIRS[0]: 0.97}), PackagedRelationModel()
    with wellkept.open("memory:", embedder=embedder, relation_model=model) as store:
        told = store.remember_many([NewMemory(content=text, kind="lesson") for text in (*german, *PAIRS[0])]).results
        plan = store.plan()
        unread = [entry.reading is None for entry in store.journal()]
    assert [result.outcome for result in told] == ["created", "created", "created", "restated"]
    assert [result.degraded for result in told] == [(), ("relation",), (), ()]
    assert [result.memory.checked for result in told if result.memory] == [True, False, True, True]
    assert unread[:4] == [True, True, True, False]
    assert "relation" in plan.degraded


def test_where_the_policy_says_so_only_the_texts_that_need_a_damaged_network_fail(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B-11."""
    flip(copied / "multilingual.onnx")
    monkeypatch.setattr(relation, "WEIGHTS", copied)
    policy = Policy(kinds={**DEFAULT_KINDS, "lesson": replace(DEFAULT_KINDS["lesson"], on_error="raise")})
    german = ("Das Büro ist in Berlin.", "Das Büro befindet sich in Berlin.")
    embedder = FakeEmbedder({german: 0.97, PAIRS[0]: 0.97})
    with wellkept.open("memory:", embedder=embedder, policy=policy, relation_model=PackagedRelationModel()) as store:
        told = store.remember_many([NewMemory(content=text, kind="lesson") for text in (*german, *PAIRS[0])])
    assert [result and result.outcome for result in told.results] == ["created", None, "created", "restated"]
    assert [error.error for error in told.errors] == ["ModelUnavailable"]


def assert_rules_alone() -> None:
    old, new = PAIRS[0]
    with wellkept.open("memory:", embedder=FakeEmbedder({(old, new): 0.97})) as store:
        store.remember(old, kind="lesson")
        result = store.remember(new, kind="lesson")
    assert (result.outcome, result.degraded) == ("created", ("relation",))


def test_without_its_files_rules_judge_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: Any) -> None:
    monkeypatch.setattr(relation, "WEIGHTS", tmp_path)
    with pytest.raises(ModelUnavailable, match="Reinstall wellkept"):
        load_relation_model("packaged")
    assert load_relation_model("auto") is None
    assert_rules_alone()
    assert any("judging by rules alone" in line for line in caplog.messages)


def test_without_onnxruntime_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "onnxruntime" else find(name, *rest)
    )
    with pytest.raises(ModelUnavailable, match="pip install onnxruntime"):
        PackagedRelationModel().check()


def test_damage_after_opening_is_an_outage_and_not_a_lost_memory(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """I7: opened whole, broken before the first question."""
    monkeypatch.setattr(relation, "WEIGHTS", copied)
    old, new = PAIRS[0]
    with wellkept.open("memory:", embedder=FakeEmbedder({(old, new): 0.97}), relation_model="packaged") as store:
        flip(copied / "relation.onnx")
        store.remember(old, kind="lesson")
        result = store.remember(new, kind="lesson")
    assert (result.outcome, result.degraded) == ("created", ("relation",))


# --------------------------------------------------------------------------------------------
# Loaded late


def test_neither_import_nor_opening_nor_a_first_write_loads_the_weights() -> None:
    """The files are looked at when a store is opened, and loaded when there is something to ask."""
    code = (
        "import sys, wellkept\n"
        "assert 'wellkept.models.relation' not in sys.modules\n"
        "store = wellkept.open('memory:', embedder='hashing')\n"
        "store.remember('The office is in Berlin.', kind='lesson')\n"
        "from wellkept.models import relation\n"
        "assert store._ctx.relation_model is not None\n"
        "assert relation._load.cache_info().currsize == 0\n"
        "assert not {'onnxruntime', 'tokenizers'} & set(sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
