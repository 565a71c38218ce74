"""The data of one language: a field is a key of its TOML file, and its type determines the notation.

A key without a default is required in every file; an unknown key is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, TypeAlias

Antonymy = Literal["act", "state", "weak", "own"]
"""Grade of opposition of two words: a verb and its reverse (`act`), states that exclude each other (`state`), a pair
that only forbids *same* (`weak`), or a pair named in a policy (`own`)."""
Script = Literal["latin", "cyrillic", "han", "kana"]

Words: TypeAlias = frozenset[str]
"""Written as one string of words, separated by spaces."""
Sayings: TypeAlias = frozenset[str]
"""Written as one string of phrases, separated by `|`."""
Cues: TypeAlias = Mapping[str, tuple[tuple[str, ...], ...]]
"""Phrases by first word, longest first; written as a list."""
Phrases: TypeAlias = Mapping[str, tuple[tuple[str, ...], ...]]
"""As `Cues`, written as one string of phrases, separated by `|`."""
Conditions: TypeAlias = Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]
"""Condition phrases by first word, with their class: `exception`, `if`, `until` or `only`; written as a table."""
Endings: TypeAlias = tuple[str, ...]
"""Written as a list; sorted longest first."""
Ranks: TypeAlias = Mapping[str, int]
"""Written as a list of words, numbered from 1."""
Around: TypeAlias = Mapping[str, int]
"""Written as a list of words, numbered from -1."""
Weekdays: TypeAlias = Mapping[str, int]
"""Written as seven lists of names, Monday first."""
Months: TypeAlias = Mapping[str, int]
"""Written as twelve lists of names."""
Counts: TypeAlias = Mapping[str, int]
Factors: TypeAlias = Mapping[str, Decimal]
Names: TypeAlias = Mapping[str, str]
Groups: TypeAlias = tuple[frozenset[str], ...]
"""Written as a list of strings of words."""
Forms: TypeAlias = Mapping[str, frozenset[str]]
"""Written as a table from a word to a string of words."""
Shapes: TypeAlias = Mapping[str, re.Pattern[str]]
"""Patterns of whole words by the name of the word form."""
Listed: TypeAlias = tuple[str, ...]
"""Written as a list; its order is kept."""
Sources: TypeAlias = tuple[str, ...]
"""Written as a list of regular expressions."""
Inflections: TypeAlias = tuple[tuple[re.Pattern[str], str, str], ...]
"""Written as a list of triples: pattern of the whole word, dictionary form, name of the ending."""
Rewritings: TypeAlias = tuple[tuple[re.Pattern[str], str], ...]
"""Written as a list of pairs: pattern and replacement."""
Antonyms: TypeAlias = Mapping[str, tuple[tuple[str, Antonymy], ...]]
"""Written as a table of grades; in a set of three or more words the first is opposed to each of the others."""
Meanings: TypeAlias = Mapping[str, tuple[tuple[tuple[str, ...], str, str], ...]]
"""First word -> (phrase, group, meaning), longest phrase first; written as one table per group of particles."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """Grammar of a language, as far as rules depend on it.

    Attributes:
        rank: Priority when a text has equally many words of two languages; the lowest wins.
        script: The script of the language; `han` and `kana` have no spaces between words.
        in_all_texts: Its words occur in texts of all languages, so its units and antonyms always apply.
        wordnet: The tables of `english.py` cover its words.
        stems_terms: Search terms in its script are stemmed by its endings.
        stem_rounds: Maximum number of endings removed from a stem; `shortest_stem`: minimum letters that remain.
        clitics_follow: The clitic follows the apostrophe ("it's"); otherwise it precedes it ("l'ora").
        scale_alone: A scale word such as "hundred" is a number by itself.
        versions_open: A capitalised first word before a version may be a name ("Python 3.12 …").
        h_is_duration: "1h30" is a duration; otherwise a time of day.
        decimal_comma: 1,5 means one and a half.
        day_first: 3/4 is in April; otherwise a date with slashes is ambiguous.
        nouns_capitalised: All nouns are capitalised, so a capital does not mark a name.
        past_excludes: Two past values ("was") exclude each other; otherwise they may refer to two times.
        past_is_participle: A past form may be a participle that opens a sentence ("Hosted in Graz").
        bare_adjectives: An adjective has the same form before its noun and in the predicate.
        final_e_tells: A final e distinguishes words (plan, plane).
        verbs_last: The verb is at the end of its clause, separated from its auxiliary.
        object_first: The object precedes the verb.
        limit_follows: "Only" follows the limited phrase.
        cases: Case endings mark the roles, so that word order is free.
    """

    rank: int
    script: Script
    in_all_texts: bool = False
    wordnet: bool = False
    stems_terms: bool = False
    stem_rounds: int = 1
    shortest_stem: int = 4
    clitics_follow: bool = False
    scale_alone: bool = False
    versions_open: bool = False
    h_is_duration: bool = False
    decimal_comma: bool = False
    day_first: bool = False
    nouns_capitalised: bool = False
    past_excludes: bool = False
    past_is_participle: bool = False
    bare_adjectives: bool = False
    final_e_tells: bool = False
    verbs_last: bool = False
    object_first: bool = False
    limit_follows: bool = False
    cases: bool = False

    @property
    def spaced(self) -> bool:
        """Whether words are separated by spaces."""
        return self.script not in ("han", "kana")


@dataclass(frozen=True, slots=True)
class EventWords:
    """Words for order and time of events, and for restrictions.

    Attributes:
        before, after, until: Conjunctions between two events: "X before Y", "after Y, X".
        first_then: Connectors between an event and the next one: "X, then Y".
        latest, soonest: Prepositions of a bound, followed by a point in time: "by Friday", "from Friday".
        moments: Words for points in time, in addition to days, months, units and figures.
        places: In unspaced scripts, words that open a place.
        flips: Words that reverse an order: "never X before Y" means "Y before X".
        not_links: In unspaced scripts, words that only seem to contain a conjunction.
        when, unless: Conjunctions of a condition: "Y when X", "unless X, Y".
        future, due: Markers of the future, and of obligations or decisions.
        not_future: Words that look like a future verb form.
        former: Markers of past habits.
        running: Markers of ongoing actions.
        stops: Words for the end of a habit or action.
        be, being: Forms of "to be" after such a marker, and its present forms; `got`: other passive auxiliaries.
        planned_states: Those of `be` that plan a state ("will be open"); a present form states it as a fact.
        intended: Words for intentions that are not reality yet.
        perfect: Auxiliaries of the perfect, before a participle.
        participles, past: Irregular forms.
        done: Words that alone express completion.
        was: Past forms, each with the corresponding present forms.
        only: Words that limit the following phrase.
        verb_follows: Words after which "only" precedes the verb and may limit any later word.
        noun_ended: Those of them that do not end a noun phrase before them ("to", "and").
        noun_follows: Words that open a noun phrase.
        asking: Beginnings of a question without a question mark; in unspaced scripts, its endings.
        greeting: Opening words of an answer that state nothing.
        persons: Words for the speaker.
        shapes: `future`, `infinitive` (after a future marker), `participle`, `past`, `now`, `progressive`, `plural`;
            in unspaced scripts, endings of sentences.
    """

    before: Phrases
    after: Phrases
    until: Phrases
    future: Phrases
    only: Words
    first_then: Phrases = field(default_factory=dict)
    latest: Phrases = field(default_factory=dict)
    soonest: Phrases = field(default_factory=dict)
    due: Phrases = field(default_factory=dict)
    when: Phrases = field(default_factory=dict)
    unless: Phrases = field(default_factory=dict)
    former: Phrases = field(default_factory=dict)
    running: Phrases = field(default_factory=dict)
    asking: Phrases = field(default_factory=dict)
    moments: Words = frozenset()
    places: Words = frozenset()
    flips: Words = frozenset()
    stops: Words = frozenset()
    not_links: Words = frozenset()
    not_future: Words = frozenset()
    be: Words = frozenset()
    planned_states: Words = frozenset()
    being: Words = frozenset()
    got: Words = frozenset()
    intended: Words = frozenset()
    perfect: Words = frozenset()
    participles: Words = frozenset()
    done: Words = frozenset()
    past: Words = frozenset()
    verb_follows: Words = frozenset()
    noun_ended: Words = frozenset()
    noun_follows: Words = frozenset()
    greeting: Words = frozenset()
    persons: Words = frozenset()
    was: Forms = field(default_factory=dict)
    shapes: Shapes = field(default_factory=dict)

    @property
    def vocabulary(self) -> frozenset[str]:
        """Words that help to detect the language."""
        return (
            self.flips
            | self.being
            | self.perfect
            | self.intended
            | self.done
            | self.only
            | self.verb_follows
            | {word for phrases in (self.before, self.after, self.future) for word in phrases}
        )


@dataclass(frozen=True, slots=True)
class Particles:
    """Particles and prepositions that change the meaning of a statement.

    Attributes:
        meanings: Phrases by first word (in unspaced scripts: first character), with group and meaning.
        roles: Prepositions that mark a semantic role.
    """

    meanings: Meanings = field(default_factory=dict)
    roles: Words = frozenset()


@dataclass(frozen=True, slots=True)
class Language:
    """The data of one language; all sets contain lower-case words.

    Attributes:
        code: The name of its file.
        markers: Words that identify the language; `runs`: in unspaced scripts, all entries as one pattern, longest
            first. Both are derived from the other fields.
        function: Function words, which carry no content.
        more_markers: Further words that identify the language.
        no_markers: Markers that are also words or names elsewhere, and count only together with another marker.
        soft: Adverbs that do not change the statement ("now", "still").
        light: Verbs so general that they add no information ("use").
        negations: Cue phrases of a negation.
        not_negations: Phrases that look like a cue but do not negate ("not only").
        negative: Words with a negative meaning ("forbidden").
        scopes: Words that limit a negation to some or to other things ("other", "until").
        conditions: Condition phrases with their class.
        copula, auxiliary: Forms of "to be" and similar verbs; auxiliary verbs.
        choose: Verbs with an exclusive object ("use", "lives in"); `direct`: those of them whose object needs no
            preposition ("prefers").
        instruments: Prepositions before an instrument ("run tests with pytest").
        past: Verbs of a past event; `was`: past forms of "to be".
        schedule: Participles of rescheduling ("moved").
        additive: Words of an addition ("also"); `blockers`: words before one of several values ("and").
        articles: Articles and possessives; `bare_articles`: those without case, `cased_articles`: those with case.
        numerals, scale: Number words, and scale words; `counting_one`: words for one that are no article.
        units: Words for units; `times`: words for times of day, in minutes.
        ordinals, ordinals_beyond, ordinal_endings: Ordinal words, and endings of ordinals in figures.
        relative_days, weekdays, months: Names of dates; `unsure_dates`: those that are also ordinary words.
        month_links, date_links: Words between day, month and year.
        date_prepositions, clock_prepositions: Words before a year, and before a time.
        hour_signs, clock_signs: Words after an hour; minutes may follow those of `clock_signs`.
        halves, halves_after: Words before and after an hour: `a` before noon, `p` after noon.
        lone_capitals: Capitalised one-letter words ("I") that are no label.
        capitalised_nouns: Words for days that are nouns if capitalised ("Morgen").
        spoken_clock: The words for `half`, `quarter`, `past` and `to` in "half past nine".
        labels, versions: Words before a number that names something.
        but: Words that open a new clause; `joining`: conjunctions between two agents of one action.
        suffixes, irregular, spelled, doubling_suffixes: Endings removed by stemming, irregular stems, spelling
            variants of letters, and endings before which a consonant is doubled.
        abbreviations: Abbreviations whose points end no sentence; `short_forms`: further ones for sentence splitting;
            `numbered_forms`: those before a number ("No. 5").
        inflections: Rules from inflected words to WordNet's dictionary forms.
        status_markers: Phrases of a status report.
        secret_names, secret_verbs: Words for a password, and the verb between the word and its value ("is").
        rewritten: Spelling variants that are replaced before a text is analysed.
        fillers: Complete phrases of acknowledgement and greeting.
        question_words: Interrogative words, which are no content of the answer.
        talkers: Names for the parties of a conversation.
        negative_endings: Negating endings ("n't"); `possessive`: a possessive ending after an apostrophe.
        split_negations: Words that negate only after another word ("ne … plus").
        concord: Words that negate alone, but after another negation only repeat it ("non … mai").
        contrasting: Negations of a contrast ("tabs, not spaces").
        nobody, none, there_is, never: Words for "nobody", "no", "there", "never"; `number_words`: negations that also
            abbreviate "number" ("No. 5").
        frequency: Adverbs that "never" contradicts; `anybody`: pronouns that "nobody" contradicts.
        universal, indefinite, indefinite_articles: Words for "all", "some" and "a".
        persons: Pronouns, one group per person.
        past_auxiliaries, past_endings: Auxiliaries and endings of the past.
        plurals, plural_endings: Plural nouns without an ending, and plural endings.
        directions: Words for a state after "to be", otherwise for a direction ("up").
        agents: Prepositions before the agent of a passive.
        antonyms: Antonyms of a word with their grades.
        grammar, events, particles: Nested tables.
    """

    code: str
    markers: frozenset[str]
    runs: re.Pattern[str] | None
    grammar: Grammar
    events: EventWords
    function: Words
    negations: Cues
    conditions: Conditions
    weekdays: Weekdays
    months: Months
    relative_days: Around
    antonyms: Antonyms
    fillers: Sayings
    more_markers: Words = frozenset()
    no_markers: Words = frozenset()
    soft: Words = frozenset()
    light: Words = frozenset()
    not_negations: Cues = field(default_factory=dict)
    negative: Words = frozenset()
    scopes: Words = frozenset()
    copula: Words = frozenset()
    auxiliary: Words = frozenset()
    choose: Words = frozenset()
    direct: Words = frozenset()
    instruments: Words = frozenset()
    past: Words = frozenset()
    was: Words = frozenset()
    schedule: Words = frozenset()
    additive: Words = frozenset()
    blockers: Words = frozenset()
    articles: Words = frozenset()
    bare_articles: Words = frozenset()
    cased_articles: Words = frozenset()
    numerals: Counts = field(default_factory=dict)
    counting_one: Words = frozenset()
    scale: Factors = field(default_factory=dict)
    units: Names = field(default_factory=dict)
    times: Counts = field(default_factory=dict)
    ordinals: Ranks = field(default_factory=dict)
    ordinals_beyond: Counts = field(default_factory=dict)
    ordinal_endings: Words = frozenset()
    unsure_dates: Words = frozenset()
    month_links: Words = frozenset()
    date_links: Words = frozenset()
    date_prepositions: Words = frozenset()
    clock_prepositions: Words = frozenset()
    hour_signs: Words = frozenset()
    clock_signs: Words = frozenset()
    halves: Names = field(default_factory=dict)
    halves_after: Names = field(default_factory=dict)
    lone_capitals: Words = frozenset()
    capitalised_nouns: Words = frozenset()
    spoken_clock: Names = field(default_factory=dict)
    labels: Words = frozenset()
    versions: Words = frozenset()
    but: Words = frozenset()
    joining: Words = frozenset()
    suffixes: Endings = ()
    irregular: Names = field(default_factory=dict)
    spelled: Names = field(default_factory=dict)
    doubling_suffixes: Words = frozenset()
    abbreviations: Sayings = frozenset()
    short_forms: Sayings = frozenset()
    numbered_forms: Words = frozenset()
    inflections: Inflections = ()
    status_markers: Listed = ()
    secret_names: Sources = ()
    secret_verbs: Words = frozenset()
    rewritten: Rewritings = ()
    question_words: Words = frozenset()
    talkers: Words = frozenset()
    negative_endings: Words = frozenset()
    possessive: Words = frozenset()
    split_negations: Forms = field(default_factory=dict)
    concord: Words = frozenset()
    contrasting: Words = frozenset()
    nobody: Sayings = frozenset()
    there_is: Words = frozenset()
    none: Words = frozenset()
    never: Words = frozenset()
    number_words: Words = frozenset()
    frequency: Words = frozenset()
    anybody: Words = frozenset()
    universal: Words = frozenset()
    indefinite: Words = frozenset()
    indefinite_articles: Words = frozenset()
    persons: Groups = ()
    past_auxiliaries: Words = frozenset()
    past_endings: Words = frozenset()
    plurals: Words = frozenset()
    plural_endings: Words = frozenset()
    directions: Words = frozenset()
    agents: Words = frozenset()
    particles: Particles = field(default_factory=Particles)
