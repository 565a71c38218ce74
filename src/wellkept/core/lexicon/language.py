"""The data of one language: a field is a key of its TOML file, and its type determines the notation.

A key without a default is required in every file; an unknown key is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from typing import Literal, TypeAlias

from wellkept.frozen import frozen

Antonymy = Literal["act", "state", "weak", "own"]
"""Grade of opposition of two words: a verb and its reverse (`act`), states that exclude each other (`state`), a pair
that only forbids *same* (`weak`), or a pair named in a policy (`own`)."""
Script = Literal["latin", "cyrillic", "han", "kana"]

Words: TypeAlias = frozenset[str]
"""Written as one text, words divided by spaces."""
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
"""Written as a list, numbered from 1, each with its forms divided by spaces."""
Around: TypeAlias = Mapping[str, int]
"""Written as a list of words, numbered from -1."""
Weekdays: TypeAlias = Mapping[str, int]
"""Written as seven lists of names, Monday first."""
Months: TypeAlias = Mapping[str, int]
"""Written as twelve lists of names."""
Counts: TypeAlias = Mapping[str, int]
Factors: TypeAlias = Mapping[str, Decimal]
Amounts: TypeAlias = Mapping[str, tuple[tuple[tuple[str, ...], Decimal, str], ...]]
"""First word -> (phrase, number, unit symbol), longest phrase first; written as a table from a phrase to "30 min"."""
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
"""Written as a list of pairs: a pattern and its replacement."""
Antonyms: TypeAlias = Mapping[str, tuple[tuple[str, Antonymy], ...]]
"""Written as a table of grades; in a set of three or more words the first is opposed to each of the others."""
Meanings: TypeAlias = Mapping[str, tuple[tuple[tuple[str, ...], str, str], ...]]
"""First word -> (phrase, group, meaning), longest phrase first; written as one table per group of particles."""


@frozen
class Grammar:
    """Grammar of a language, as far as rules depend on it.

    Attributes:
        rank: Its place where a text shows as many words of another language; the first wins.
        script: The letters it is written in; `han` and `kana` have no spaces between words.
        in_all_texts: Its words occur in texts of all languages: its units and opposites count everywhere.
        wordnet: The tables of `english.py` hold its words.
        stems_terms: Search terms in its script are cut by its endings.
        stem_rounds: How many endings a stem loses at most, and `shortest_stem` the letters it keeps.
        clitics_follow: What follows an apostrophe is the small word ("it's"); elsewhere what precedes it is ("l'ora").
        numbers_compound: One word may say a number of several parts (achtundvierzig).
        counts_in_twenties: 90 is four twenties and ten.
        versions_open: A capital opens a sentence with a name too ("Python 3.12 …").
        h_is_duration: "1h30" lasts; elsewhere it is a time of day.
        decimal_comma: 1,5 is one and a half.
        day_first: 3/4 is in April; elsewhere a date with strokes may be read both ways.
        nouns_capitalised: A capital does not mark a name.
        past_excludes: Two values of "was" cannot both have been; elsewhere they were at two times.
        past_is_participle: A verb of the past may be a participle that opens a sentence ("Hosted in Graz").
        bare_adjectives: An adjective has one form before its noun and in the predicate.
        final_e_tells: A final e makes another word (plan, plane).
        verbs_last: The verb ends its clause, at a distance from its auxiliary ("wird morgen migrieren").
        object_first: A verb follows its object.
        limit_follows: "Only" follows the word that it limits.
        cases: Endings show who does what, so that the order of words may change.
    """

    rank: int
    script: Script
    in_all_texts: bool = False
    wordnet: bool = False
    stems_terms: bool = False
    stem_rounds: int = 1
    shortest_stem: int = 4
    clitics_follow: bool = False
    numbers_compound: bool = False
    counts_in_twenties: bool = False
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
        """Whether spaces divide the words."""
        return self.script not in ("han", "kana")


@frozen(eq=False)
class EventWords:
    """The words that show when events happen, and what "only" limits.

    Attributes:
        before, after, until: Links between two events: "X before Y", "after Y, X".
        first_then: What comes between an event and the next one: "X, then Y".
        latest, soonest: Bounds that need a point in time behind them: "by Friday", "from Friday".
        moments: Words for a point in time, in addition to days, months, units and numbers.
        places: In scripts without spaces: words before a place.
        flips: Words that reverse an order: "never X before Y" is "Y before X".
        not_links: In scripts without spaces: words that contain the characters of a link and are none.
        when, unless: Links between a condition and its effect: "Y when X", "unless X, Y".
        future, due: Words that mark the future ("will"), and an obligation or a decision ("should").
        not_future: Words that look like a verb of the future.
        former: Words that mark a former habit ("used to").
        running: Words that mark what is in progress.
        stops: Words that show that something is no longer done.
        be, being: "To be" after such a word, and its present forms; `got`: other auxiliaries of the passive.
        planned_states: Those of `be` that plan a state ("will be open"), which a present form states as a fact.
        intended: Words of intention ("wants").
        perfect: Auxiliaries of what is done, before a participle.
        participles, past: Irregular forms.
        done: Words that alone show that something is done.
        was: Forms of the past, each with the present forms that correspond to it.
        only: Words that limit the words next to them.
        verb_follows: Words after which "only" precedes a verb, and so may limit any word after it.
        noun_ended: Those of them that do not end a noun before them ("to", "and").
        noun_follows: Words that open a noun.
        asking: First words of a question without a question mark; in scripts without spaces its last words.
        open_question: Words by which a statement reports a question ("asked whether", "not sure if").
        interrogatives: Words that open a question ("who"); in scripts without spaces, that stand anywhere in one.
        greeting: Words that open an answer and state nothing.
        persons: Words for the speaker.
        shapes: `future`, `infinitive` (behind a mark of the future), `participle`, `past`, `now`, `progressive`,
            `plural`; in scripts without spaces: the ends of sentences.
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
    open_question: Phrases = field(default_factory=dict)
    interrogatives: Words = frozenset()
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


@frozen
class Particles:
    """Particles and prepositions that change the meaning of a statement.

    Attributes:
        meanings: Phrases by their first word (in scripts without spaces: character), with group and meaning.
        roles: Prepositions that show the role of a person or thing.
    """

    meanings: Meanings = field(default_factory=dict)
    roles: Words = frozenset()


@frozen(eq=False)
class Language:
    """The data of one language; all sets contain lower-case words. There is one object of each.

    Attributes:
        code: The name of its file.
        markers: Words by which the language is recognised; `runs`: for languages without spaces every entry,
            longest first, as one pattern. Both follow from the rest.
        function: Words that carry no content of their own.
        more_markers: Other words by which the language is recognised.
        no_markers: Markers that are words or names in other languages too, and count only together with another one.
        soft: Adverbs whose presence changes nothing ("now", "still").
        light: Verbs so general that adding one adds nothing ("use").
        negations: Cue phrases.
        not_negations: Phrases that look like a cue and are none ("not only").
        negative: Words that deny by what they mean ("forbidden").
        scopes: Words that turn a denial of all into a denial of some, or of other things ("other", "until").
        conditions: Condition phrases, with their class.
        copula, auxiliary: Forms of "to be" and what is like it; verbs that help another one.
        choose: Verbs whose object excludes any other ("use", "lives in");
            `direct` of them need no preposition before it ("prefers").
        instruments: Prepositions before what something is done with ("run tests with pytest").
        past: Verbs of a past event; `was` are the past forms of "to be".
        schedule: Participles of a changed time ("moved").
        additive: Words of a text that only adds ("also"); `blockers`: words before one thing among others ("and").
        articles: Articles and possessives; `bare_articles`: those without a case, `cased_articles`: those with one.
        numerals, scale: Number words, and what multiplies them; `counting_one`: words for one that are no article.
        numeral_stems: Forms that a number word has inside of another (vent in ventotto).
        joins_hundreds, joins_tens, joins_parts: Words that join what follows hundreds and tens, and parts of one word.
        amounts: Phrases for an amount ("half an hour").
        part_numerals: Words for numbers that are not whole (anderthalb); `half_more`: phrases that add a half.
        units: Words for units; `times`: words for times of day, in minutes.
        ordinals, ordinals_beyond, ordinal_endings: Ordinal words, and endings of ordinals in figures.
        relative_days, weekdays, months: Names of dates; `unsure_dates`: those that are also ordinary words.
        weekday_hints: Short names of weekdays that are other words as often ("sun").
        month_links, date_links: Words between day, month and year.
        date_prepositions, clock_prepositions: Words before a year, and before a time.
        hour_signs, clock_signs: Words after an hour; minutes may follow those of `clock_signs`.
        halves, halves_after: Words before and after an hour: `a` before noon, `p` after noon.
        lone_capitals: Capitalised one-letter words ("I") that are no label.
        capitalised_nouns: Words for days that are nouns if capitalised ("Morgen").
        clock_heads, clock_tails: Phrases before and behind an hour, with the minutes they add ("half past"); those of
            `clock_heads_at` need a preposition before them, those of `clock_tails` before the hour.
        labels, versions: Words before a number that names something.
        but: Words that open a new clause; `joining`: words between two who do something together.
        passing_over: Phrases before a thing that is not the one chosen ("rather than"); `*` stands for some words
            between ("prefer * to") or, in front, for the thing itself, `/` between words that may stand in one place.
            `lesser`: words that turn a comparison round.
        suffixes, irregular, spelled: Endings that a stem loses, irregular forms with their stem, letters that are
            written in another way.
        kept_suffixes: Endings that stay behind some letters: "s" behind "s" ("class").
        doubling_suffixes: Endings before which a consonant is doubled; `kept_doubles`: consonants that stay double.
        acronym_endings: Endings of an acronym in the plural ("PRs").
        describing_endings: What follows a hyphen behind an identifier and only describes it ("argon2id-hashed").
        groups: Sets of words of which only one can be in force in one place (colours).
        abbreviations: Written with points that end no sentence; `short_forms`: more of them, for dividing a text into
            sentences; `numbered_forms`: those before a number ("No. 5").
        inflections: How WordNet's dictionary forms follow from inflected words.
        status_markers: Phrases of a status report.
        instructing: Phrases with which a clause tells an agent what to do ("use", "never").
        not_instructing: Phrases of small talk that begin like one ("never mind").
        secret_names, secret_verbs: Words for a password, and the verb between the word and its value ("is").
        rewritten: Spelling variants of numbers that are replaced before a text is analysed; each has a digit.
        fillers: Complete phrases of acknowledgement and greeting.
        question_words: Interrogative words, which are no content of the answer.
        talkers: Names for the parties of a conversation.
        negative_endings: Endings that deny ("n't"); `possessive`: an ending behind an apostrophe that says nothing.
        split_negations: Words that deny only behind another one ("ne … plus").
        concord: Words that deny alone, and only repeat a negation before them ("non … mai").
        contrasting: Denials that set one thing against another ("tabs, not spaces").
        nobody, none, there_is, never, number_words: "Nobody", "no", "there", "never"; a denial that may be "No. 5".
        frequency: What "never" denies; `anybody`: what "nobody" denies.
        universal, indefinite, indefinite_articles: "All", "some", "a".
        persons: Pronouns, one group for each person.
        past_auxiliaries, past_endings: Auxiliaries and endings of the past.
        plurals, plural_endings: Nouns in the plural without an ending, and the endings of the others.
        directions: Words that are a state after a form of "to be", and else a direction ("up").
        agents: Prepositions before who acts in a passive.
        antonyms: Opposites of a word with their grades.
        grammar, events, particles: Tables of their own.
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
    numeral_stems: Counts = field(default_factory=dict)
    joins_hundreds: Words = frozenset()
    joins_tens: Words = frozenset()
    joins_parts: Words = frozenset()
    part_numerals: Factors = field(default_factory=dict)
    half_more: Phrases = field(default_factory=dict)
    amounts: Amounts = field(default_factory=dict)
    scale: Factors = field(default_factory=dict)
    units: Names = field(default_factory=dict)
    times: Counts = field(default_factory=dict)
    ordinals: Ranks = field(default_factory=dict)
    ordinals_beyond: Counts = field(default_factory=dict)
    ordinal_endings: Words = frozenset()
    unsure_dates: Words = frozenset()
    weekday_hints: Weekdays = field(default_factory=dict)
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
    clock_heads: Counts = field(default_factory=dict)
    clock_heads_at: Counts = field(default_factory=dict)
    clock_tails: Counts = field(default_factory=dict)
    labels: Words = frozenset()
    versions: Words = frozenset()
    but: Words = frozenset()
    joining: Words = frozenset()
    passing_over: Listed = ()
    lesser: Words = frozenset()
    suffixes: Endings = ()
    irregular: Names = field(default_factory=dict)
    spelled: Names = field(default_factory=dict)
    kept_suffixes: Names = field(default_factory=dict)
    doubling_suffixes: Words = frozenset()
    kept_doubles: Words = frozenset()
    acronym_endings: Words = frozenset()
    describing_endings: Sources = ()
    groups: Forms = field(default_factory=dict)
    abbreviations: Sayings = frozenset()
    short_forms: Sayings = frozenset()
    numbered_forms: Words = frozenset()
    inflections: Inflections = ()
    status_markers: Listed = ()
    instructing: Listed = ()
    not_instructing: Listed = ()
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
