"""Generate `src/wellkept/core/lexicon/wordnet.txt.gz`: relations of English words from WordNet 3.0.

Source: the Debian package `wordnet-base`, version 1:3.0-37, whose files this script checks by sha256
(package: 61060d960f9ada8fa120872312eccd3ecebfbab8c4579e4f5a74e1cf67620752). WordNet's licence requires its notice,
which is in the folder of the result and in NOTICE. The raw data is not part of the repository:

    apt-get download wordnet-base && dpkg-deb -x wordnet-base_*.deb DIR
    python -m training.lexicon DIR/usr/share/wordnet

The table contains the words of WordNet's sense-tagged texts, the members of the classes below, and place names, with
their senses, hypernyms, the wholes of places, and direct antonyms. The same input always gives the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

TARGET = Path(__file__).parent.parent / "src" / "wellkept" / "core" / "lexicon" / "wordnet.txt.gz"

SHA256 = {
    "data.noun": "fea17d2f9656611334eac790e5d69e47645fa180c4aa481fb4cd9b3520754ca2",
    "data.verb": "adcf43e35b581e8036d8b5a52d63d9cd3d3b4870b2720d3c03c799df44777bc2",
    "data.adj": "c89120dfc1f046ddff4a631bf9b7e9fa1a36b5e86565a23bf82dbe14f30b88a7",
    "data.adv": "444a63bf3955080ab7524f5079cfc07ff9bc682cb98bdb1db73b0fb9829f1139",
    "index.noun": "a490d99d93d017bf4822fe2f0ffa51fd73911ce271dc7535fade21f8814b5a04",
    "index.verb": "e2ac24816c3a8289dcb72aaa9cf8db81fdf25ec34d792bfc96ac5b7a20c8b4ae",
    "index.adj": "c9865d7b4d1f805bdef82ccdcea5282436e23083e6f6f1b33e716327c4eda810",
    "index.adv": "6f5465ed5758fe9c8a2f7ec17b1300f3aa875756c70ff7cba162f7e71bcf88ea",
    "cntlist.rev": "a198580b8f705fa02797bba8b13e5cbe4a9f9f40cb1697e774c7fc6a5865b035",
}

PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
_NUMBERS = {"n": 1, "v": 2, "a": 3, "r": 4, "s": 5}

# Of one class a thing is one only: group -> the WordNet senses (lemma, number) whose kinds belong to it.
# Left out on purpose: occupations and kin (a person may be several), diseases, tools, feelings.
CLASSES: dict[str, tuple[tuple[str, int], ...]] = {
    "colour": (("chromatic_color", 1), ("achromatic_color", 1)),
    "metal": (("metallic_element", 1), ("alloy", 1)),
    "wood": (("wood", 1),),
    "fabric": (("fabric", 1),),
    "instrument": (("musical_instrument", 1),),
    "vehicle": (("vehicle", 1),),
    "sport": (("sport", 1),),
    "fruit": (("edible_fruit", 1),),
    "vegetable": (("vegetable", 1),),
    "drink": (("beverage", 1),),
    "animal": (("animal", 1),),
    "furniture": (("furniture", 1),),
    "room": (("room", 1),),
    "building": (("building", 1),),
    "garment": (("garment", 1),),
    "meal": (("meal", 1),),
    "language": (("natural_language", 1),),
    "nationality": (("inhabitant", 1),),
    "gem": (("jewel", 1), ("transparent_gem", 1)),
    "currency": (("monetary_unit", 1),),
    "shape": (("plane_figure", 1),),
    "tree": (("tree", 1),),
    "flower": (("flower", 1),),
}

_WORD = re.compile("[a-z]{2,24}")
_NAME = re.compile("[A-Za-z.' -]{2,40}")
_PERSONS = (5, 18)
"""Lexicographer files of animals and persons: man and woman, bull and cow are two beings, not antonyms."""
_PLACES = 15
_DIRECTION = frozenset("left right up down north south east west".split())


@dataclass
class Sense:
    """One synset: words, lexicographer file, hypernyms, wholes, and antonyms by word."""

    key: str
    file: int
    words: list[str]
    parents: list[str] = field(default_factory=list)
    wholes: list[str] = field(default_factory=list)
    opposites: list[tuple[int, str, int]] = field(default_factory=list)


def read_senses(folder: Path) -> dict[str, Sense]:
    """All synsets, by part of speech and offset."""
    found: dict[str, Sense] = {}
    for name, part in PARTS.items():
        for line in (folder / f"data.{name}").read_text(encoding="utf-8").splitlines():
            if line[0] != " ":
                sense = _sense(line, part)
                found[sense.key] = sense
    return found


def _sense(line: str, part: str) -> Sense:
    fields = line.split(" | ")[0].split()
    count = int(fields[3], 16)
    words = [re.sub(r"\(.*\)", "", fields[4 + 2 * n]).replace("_", " ") for n in range(count)]
    sense = Sense(part + fields[0], int(fields[1]), words)
    at = 4 + 2 * count
    for n in range(int(fields[at])):
        symbol, offset, kind, where = fields[at + 1 + 4 * n : at + 5 + 4 * n]
        target = ("a" if kind == "s" else kind) + offset
        if symbol in ("@", "@i"):
            sense.parents.append(target)
        elif symbol == "#p":
            sense.wholes.append(target)
        elif symbol == "!" and where != "0000":
            sense.opposites.append((int(where[:2], 16), target, int(where[2:], 16)))
    return sense


def read_order(folder: Path) -> dict[tuple[str, str], list[str]]:
    """(word, part of speech) -> its senses, the most frequent first."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, part in PARTS.items():
        for line in (folder / f"index.{name}").read_text(encoding="utf-8").splitlines():
            if line[0] != " ":
                fields = line.split()
                senses = int(fields[2])
                found[fields[0].replace("_", " "), part] = [part + offset for offset in fields[-senses:]]
    return found


def read_counts(folder: Path) -> dict[tuple[str, str, int], int]:
    """(word, part of speech, number of the sense) -> its tag count."""
    found: dict[tuple[str, str, int], int] = defaultdict(int)
    parts = {number: "a" if part == "s" else part for part, number in _NUMBERS.items()}
    for line in (folder / "cntlist.rev").read_text(encoding="utf-8").splitlines():
        key, number, count = line.split()
        word, _, rest = key.partition("%")
        found[word.replace("_", " "), parts[int(rest[0])], int(number)] += int(count)
    return found


class Table:
    """Selects the entries of the table and formats them."""

    def __init__(self, folder: Path) -> None:
        self.senses = read_senses(folder)
        self.order = read_order(folder)
        self.counts = read_counts(folder)
        self.classes: dict[str, list[str]] = {
            name: [self.order[lemma.replace("_", " "), "n"][number - 1] for lemma, number in roots]
            for name, roots in CLASSES.items()
        }
        self.ancestors: dict[str, frozenset[str]] = {}

    def above(self, key: str) -> frozenset[str]:
        """All hypernyms of a sense, transitively."""
        if key not in self.ancestors:
            parents = self.senses[key].parents
            self.ancestors[key] = frozenset(parents).union(*(self.above(parent) for parent in parents))
        return self.ancestors[key]

    def words(self) -> dict[str, list[tuple[str, int]]]:
        """Word -> its senses with tag counts; nouns first, then by frequency."""
        kept: dict[str, list[tuple[str, int]]] = defaultdict(list)
        roots = {root for listed in self.classes.values() for root in listed}
        for (word, part), senses in sorted(self.order.items(), key=lambda item: (item[0][0], "nvar".index(item[0][1]))):
            counted = [(key, self.counts.get((word, part, n), 0)) for n, key in enumerate(senses, 1)]
            tagged = any(count for _, count in counted)
            member = part == "n" and bool(roots & self.above(senses[0]))
            place = part == "n" and any(self.senses[key].file == _PLACES and self.senses[key].wholes for key in senses)
            if (_WORD.fullmatch(word) and (tagged or member)) or (place and _NAME.fullmatch(word)):
                kept[word] += counted
        return kept

    def opposites(self) -> Iterator[tuple[str, str, str]]:
        """Antonyms among the frequent senses of frequent words, with their grade."""
        found: dict[tuple[str, str], str] = {}
        for key, sense in self.senses.items():
            for place, target, other_place in sense.opposites:
                other = self.senses[target]
                if sense.file in _PERSONS or other.file in _PERSONS:
                    continue
                first, second = sense.words[place - 1].lower(), other.words[other_place - 1].lower()
                ranks = self._rank(first, key), self._rank(second, target)
                if first >= second or 0 in ranks or not (_WORD.fullmatch(first) and _WORD.fullmatch(second)):
                    continue
                state = key[0] == "a" and ranks == (1, 1) and not {first, second} & _DIRECTION
                found[first, second] = "state" if state or found.get((first, second)) == "state" else "weak"
        for (first, second), grade in sorted(found.items()):
            yield first, second, grade

    def _rank(self, word: str, key: str) -> int:
        """The frequency rank of a sense of a word; 0 for a rare sense or an untagged word."""
        senses = self.order.get((word, key[0]), [])
        if key not in senses:
            return 0
        rank = senses.index(key) + 1
        count = self.counts.get((word, key[0], rank), 0)
        return rank if count and rank <= 3 else 0

    def lines(self) -> Iterator[str]:
        """The lines of the file: numbered senses with hypernyms and wholes, words, antonyms, classes."""
        words = self.words()
        needed = {key for senses in words.values() for key, _ in senses}
        for key in list(needed):
            needed |= self.above(key)
            needed |= self._around(key)
        numbers = {key: n for n, key in enumerate(sorted(needed, key=lambda k: ("nvar".index(k[0]), k)))}
        for key in numbers:
            sense = self.senses[key]
            parents = " ".join(str(numbers[parent]) for parent in sorted(sense.parents))
            wholes = " ".join(str(numbers[whole]) for whole in sorted(sense.wholes) if whole in numbers)
            yield f"{parents}#{wholes}" if wholes else parents
        yield "-"
        for word, senses in sorted(words.items()):
            yield word + "\t" + " ".join(f"{key[0]}{numbers[key]}:{count}" for key, count in senses)
        yield "-"
        for first, second, grade in self.opposites():
            yield f"{grade} {first} {second}"
        yield "-"
        for name, roots in sorted(self.classes.items()):
            yield name + " " + " ".join(str(numbers[root]) for root in roots)

    def _around(self, key: str) -> frozenset[str]:
        """All places that contain a place, transitively, and their hypernyms."""
        if self.senses[key].file != _PLACES:
            return frozenset()
        found: set[str] = set()
        open_keys = [key]
        while open_keys:
            for whole in self.senses[open_keys.pop()].wholes:
                if whole not in found:
                    found.add(whole)
                    open_keys.append(whole)
        return frozenset(found).union(*(self.above(whole) for whole in found)) if found else frozenset()


def check(folder: Path) -> None:
    """Check that the source has the expected version.

    Raises:
        SystemExit: A file differs from the version of this script.
    """
    for name, expected in SHA256.items():
        actual = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        if actual != expected:
            raise SystemExit(f"{name}: sha256 is {actual}, expected {expected}")


def main(arguments: list[str] | None = None) -> int:
    """Read the source folder and write the table."""
    parser = argparse.ArgumentParser(description="Derive the English word relations from WordNet 3.0.")
    parser.add_argument("folder", type=Path, help="folder with data.noun, index.noun, cntlist.rev …")
    parser.add_argument("--target", type=Path, default=TARGET)
    chosen = parser.parse_args(arguments)
    check(chosen.folder)
    text = "\n".join(Table(chosen.folder).lines()) + "\n"
    data = gzip.compress(text.encode("utf-8"), compresslevel=9, mtime=0)
    chosen.target.write_bytes(data)
    sys.stdout.write(f"{chosen.target.name}: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
