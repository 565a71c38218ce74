"""Generates labelled pairs of memories from frames and cases.

Compositions combine wordings, values, aliases and updates, so that neither word overlap nor a marker of change predicts
the label. A pair is drawn in three steps: relation, material, sentences. There is one random generator, so a seed
always gives the same pairs.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

from training.material import Case, Frame

MIRRORED = {"refines": "generalises", "generalises": "refines"}
Labels: TypeAlias = tuple[str, ...]

_RELATIONS = {"same": 0.24, "refines": 0.19, "conflict": 0.24, "distinct": 0.33}
_CASES_SHARE = 0.62
"""Share of pairs from cases, which have natural wordings; frames teach that the label does not depend on the words."""


@dataclass(frozen=True)
class Pair:
    """Two memories and the relation of the newer to the older.

    Attributes:
        labels: Usually one relation; several if the material does not determine which of them holds.
        source: Id of the frame or case.
    """

    old: str
    new: str
    labels: Labels
    lang: str
    source: str

    def swapped(self) -> Pair:
        """The pair with older and newer exchanged."""
        labels = tuple(MIRRORED.get(label, label) for label in self.labels)
        return replace(self, old=self.new, new=self.old, labels=labels)


class Composer:
    """Draws an endless series of pairs.

    Args:
        frames / cases: The material; either may be empty.
        seed: Seed of the random generator.
        noisy: Whether casing, prefixes and typing errors are added.
    """

    def __init__(self, frames: Sequence[Frame], cases: Sequence[Case], *, seed: int, noisy: bool = True) -> None:
        self._frames = [frame for frame in frames if len(frame.parts["forms"]) > 1]
        self._cases = cases
        self._random = random.Random(seed)
        self._noisy = noisy

    def draw(self) -> Pair:
        """One more pair."""
        chance = self._random
        relation = chance.choices(tuple(_RELATIONS), tuple(_RELATIONS.values()))[0]
        use_case = bool(self._cases) and (not self._frames or chance.random() < _CASES_SHARE)
        pair = self._of_case(relation) if use_case else self._of_frame(relation)
        if self._noisy:
            pair = replace(pair, old=noise(pair.old, chance), new=noise(pair.new, chance))
        return pair.swapped() if chance.random() < 0.5 else pair

    # ----------------------------------------------------------------------------------------

    def _of_case(self, relation: str) -> Pair:
        chance, case = self._random, self._random.choice(self._cases)
        part = case.parts
        same, other = chance.sample(part["same"], 2)
        beside = chance.choice(part["distinct"])
        roll = chance.random()
        old, new = same, other
        match relation:
            case "refines" if roll < 0.78:
                new = chance.choice(part["refines"])
            case "refines" if roll < 0.92 and part["general"]:
                old, new = chance.choice(part["general"]), chance.choice((other, *part["refines"][:1]))
            case "refines":
                new = f"{other} {beside}"
            case "conflict":
                new = chance.choice(part["conflict"])
                if roll < 0.18:
                    old = chance.choice(part["refines"])
                elif roll < 0.26:
                    new = f"{new} {beside}"
            case "distinct" if roll < 0.55:
                new = beside
            case "distinct" if roll < 0.65:
                old, new = chance.choice(part["refines"]), beside
            case "distinct" if roll < 0.7:
                old, new = chance.choice(part["conflict"]), beside
            case "distinct":
                stranger = self._stranger(case)
                old = self._any(case)
                new = self._namesake(case, stranger, self._any(stranger))
            case _ if roll < 0.03:
                new = same
            case _:
                pass
        return Pair(old, new, (relation,), case.lang, case.id)

    def _stranger(self, case: Case) -> Case:
        """Another case, usually of the same language."""
        for _ in range(8):
            found = self._random.choice(self._cases)
            if found.id != case.id and found.lang == case.lang:
                return found
        return next(item for item in self._cases if item.id != case.id)

    def _namesake(self, case: Case, stranger: Case, told: str) -> str:
        """The stranger's text, mostly with its name replaced by this case's; a shared name is no contradiction."""
        ours, theirs = _name_of(case), _name_of(stranger)
        if not ours or not theirs or self._random.random() < 0.25:
            return told
        return re.sub(rf"\b{re.escape(theirs)}\b", ours, told, flags=re.IGNORECASE)

    def _any(self, case: Case) -> str:
        return self._random.choice(case.parts[self._random.choice(("same", "same", "refines", "conflict"))])

    # ----------------------------------------------------------------------------------------

    def _of_frame(self, relation: str) -> Pair:
        frame = self._random.choice(self._frames)
        values = {name: self._random.choice(list(options)) for name, options in frame.slots.items()}
        form, other = self._random.sample(frame.parts["forms"], 2)
        match relation:
            case "refines":
                made = self._refining(frame, (form, other), values)
            case "conflict":
                made = self._conflicting(frame, (form, other), values)
            case "distinct":
                made = self._distinguishing(frame, (form, other), values)
            case _:
                made = self._repeating(frame, (form, other), values)
        if made is None:
            return self._of_frame(relation)  # this frame has nothing of the kind
        return made

    def _repeating(self, frame: Frame, forms: tuple[str, str], values: dict[str, str]) -> Pair:
        new = self._fill(frame, forms[1], values)
        roll = self._random.random()
        if roll < 0.1 and frame.parts["updates"]:
            # News of a value, then the value: the same fact, though the news says a little more.
            old = self._fill(frame, self._random.choice(frame.parts["updates"]), values)
            return Pair(old, new, ("same", "generalises"), frame.lang, frame.id)
        old = self._fill(frame, forms[1] if roll < 0.13 else forms[0], values)
        return Pair(old, new, ("same",), frame.lang, frame.id)

    def _refining(self, frame: Frame, forms: tuple[str, str], values: dict[str, str]) -> Pair:
        old, new = (self._fill(frame, form, values) for form in forms)
        roll = self._random.random()
        if roll < 0.7 and frame.parts["details"]:
            new = self._fill(frame, self._random.choice(frame.parts["details"]), values)
        elif roll < 0.85 and frame.parts["general"]:
            old = self._fill(frame, self._random.choice(frame.parts["general"]), values)
        else:
            new = f"{new} {self._fill(frame, self._random.choice(frame.parts['siblings']), values)}"
        return Pair(old, new, ("refines",), frame.lang, frame.id)

    def _conflicting(self, frame: Frame, forms: tuple[str, str], values: dict[str, str]) -> Pair | None:
        moved = self._moved(frame, values, frame.exclusive)
        roll = self._random.random()
        if roll < 0.4 and frame.parts["updates"] and moved:
            new = self._fill(frame, self._random.choice(frame.parts["updates"]), moved)
        elif roll < 0.75 and moved:
            new = self._fill(frame, self._random.choice((*frame.parts["forms"], *frame.parts["details"])), moved)
        elif frame.parts["negations"]:
            new = self._fill(frame, self._random.choice(frame.parts["negations"]), values)
        elif moved:
            new = self._fill(frame, forms[1], moved)
        else:
            return None
        return Pair(self._fill(frame, forms[0], values), new, ("conflict",), frame.lang, frame.id)

    def _distinguishing(self, frame: Frame, forms: tuple[str, str], values: dict[str, str]) -> Pair | None:
        chance = self._random
        roll = chance.random()
        if roll < 0.3 and frame.parts["siblings"]:
            new = self._fill(frame, chance.choice(frame.parts["siblings"]), values)
        elif roll < 0.75:
            elsewhere = self._moved(frame, values, frame.subject)
            if elsewhere is None:
                return None
            if chance.random() < 0.5:
                elsewhere = self._moved(frame, elsewhere, frame.exclusive) or elsewhere
            # Nearly the same words half of the time: the subject alone must tell.
            others = (forms[1], *frame.parts["updates"], *frame.parts["details"])
            new = self._fill(frame, forms[0] if chance.random() < 0.5 else chance.choice(others), elsewhere)
        else:
            foreign = chance.choice(self._frames)
            if foreign.id == frame.id:
                return None
            filling = {name: chance.choice(list(options)) for name, options in foreign.slots.items()}
            new = self._fill(foreign, chance.choice((*foreign.parts["forms"], *foreign.parts["updates"])), filling)
        return Pair(self._fill(frame, forms[0], values), new, ("distinct",), frame.lang, frame.id)

    def _moved(self, frame: Frame, values: dict[str, str], slots: Sequence[str]) -> dict[str, str] | None:
        """The values with one of these slots changed; None if none can change."""
        able = [name for name in slots if len(frame.slots.get(name, ())) > 1]
        if not able:
            return None
        name = self._random.choice(able)
        return {**values, name: self._random.choice([value for value in frame.slots[name] if value != values[name]])}

    def _fill(self, frame: Frame, sentence: str, values: dict[str, str]) -> str:
        for name, value in values.items():
            spelled = value
            if value in frame.aliases and self._random.random() < 0.35:
                spelled = self._random.choice(list(frame.aliases[value]))
            sentence = sentence.replace("{" + name + "}", spelled)
        return sentence[:1].upper() + sentence[1:]


# --------------------------------------------------------------------------------------------

_NAMED_IN = 0.6
"""Minimum share of a case's wordings that contain a word before it counts as the case's subject."""


@cache
def _name_of(case: Case) -> str:
    """The capitalised word, not only at sentence starts, that most wordings of the case contain; empty without one."""
    wordings = case.parts["same"]
    shares: Counter[str] = Counter()
    for text in wordings:
        shares.update({word for word in re.findall(r"(?<=\s)[^\W\d_]{3,}", text) if word[0].isupper()})
    low = [text.lower() for text in wordings]
    named = {word: sum(word.lower() in text for text in low) for word in shares}
    best = max(named, key=lambda word: (named[word], shares[word], word), default="")
    return best if best and named[best] >= _NAMED_IN * len(wordings) else ""


_REMARKS = (
    "As discussed.", "Just so you know.", "Writing this down before I forget.", "From today's sync.", "For the record:",
    "Small thing, but worth keeping.", "Came up in the call this morning.", "Not urgent.", "As far as I know:",
    "Somebody asked again today.", "Checked it twice.", "Came up while I was going through old mail.", "To be clear:",
    "Copying this from the chat.", "You asked me to keep this in mind.", "Same topic as the other day.",
    "Good to know:",
    "I looked it up.", "The user mentioned this in passing.", "This one matters.",
)  # fmt: skip
_PREFIXES = (
    "Note: ",
    "Remember: ",
    "FYI, ",
    "Update: ",
    "Reminder: ",
    "- ",
    "TIL ",
    "(2026-03-14) ",
    "Tuesday: ",
    "OK so ",
)


def noise(text: str, chance: random.Random) -> str:
    """Add meaningless variation: casing, a prefix, a missing full stop, a typing error."""
    roll = chance.random()
    if roll < 0.04:
        text = text.lower()
    elif roll < 0.05:
        text = text.upper()
    elif roll < 0.09:
        text = chance.choice(_PREFIXES) + text
    elif roll < 0.16:
        # Long texts are not of one label only because a writer had something to say besides.
        remark = chance.choice(_REMARKS)
        text = f"{text} {remark}" if remark.endswith(".") and chance.random() < 0.5 else f"{remark} {text}"
    if chance.random() < 0.12:
        text = text.rstrip(".。")
    if chance.random() < 0.03:
        places = [at for at in range(len(text) - 1) if text[at : at + 2].isalpha() and text[at : at + 2].isascii()]
        if places:
            at = chance.choice(places)
            text = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return text
