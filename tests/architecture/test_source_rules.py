"""The house rules hold in every file, and each of them notices when it is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from architecture import source_rules
from architecture.source_rules import RULES, Rule, Source

PACKAGE = Path(__file__).parents[2] / "src" / "wellkept"
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
SOURCES = [Source(path, (PACKAGE / path).read_text("utf-8")) for path in FILES]
"""Each file is parsed once, for all rules."""


def name_of(rule: Rule) -> str:
    return rule.__name__


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_rule_holds_in_the_whole_package(rule: Rule) -> None:
    offences = [f"{source.path}:{offence}" for source in SOURCES for offence in rule(source)]
    assert not offences, f"{rule.__doc__}\n" + "\n".join(offences)


def test_no_code_stands_in_the_other_files_of_the_package() -> None:
    others = [path for end in ("sql", "toml", "schema.json", "md") for path in sorted(PACKAGE.rglob(f"*.{end}"))]
    offences = [
        f"{path.relative_to(PACKAGE)}:{offence}"
        for path in others
        for offence in source_rules.codes_stay_outside(Source(path.name, path.read_text("utf-8")))
    ]
    assert others and not offences, offences


LONG_FUNCTION = "def f():\n" + "    x = 1\n" * 80
LONG_FILE = '"""Doc."""\n' + "x = 1\n" * 600

BROKEN = [
    ("comparisons_know_the_policys_opposites", "engine/a.py", "told = compare(new, old, cosine=None, similarity=None)"),
    ("codes_stay_outside", "core/a.py", "x = 1  # S0-12"),
    ("codes_stay_outside", "core/a.py", '"""Never lost (B-37)."""'),
    ("codes_stay_outside", "core/a.py", '"""Decided once (design §4)."""'),
    ("codes_stay_outside", "core/a.py", '"""Nothing is lost (I1, E-3.8)."""'),
    ("codes_stay_outside", "core/a.py", '"""The queue of S0."""'),
    ("codes_stay_outside", "core/a.py", "# bounded (D2)"),
    ("environment_is_read_in_config_only", "core/a.py", "import os\nx = os.environ['A']"),
    ("environment_is_read_in_config_only", "cli.py", "import os\nx = os.getenv('A')"),
    ("environment_is_read_in_config_only", "engine/a.py", "from os import environ"),
    ("environment_is_read_in_config_only", "cli/daemon/a.py", "import os\nx = os.environ['A']"),
    ("file_is_short", "core/a.py", LONG_FILE),
    ("frozen_records_are_cheap", "core/a.py", "@dataclass(frozen=True, slots=True)\nclass A: ..."),
    ("functions_are_short", "core/a.py", LONG_FUNCTION),
    ("library_does_not_print", "core/a.py", "print('x')"),
    ("module_says_what_it_is", "core/a.py", "x = 1"),
    ("module_says_what_it_is", "core/__init__.py", ""),
    ("no_error_is_swallowed", "core/a.py", "try:\n    f()\nexcept Exception:\n    pass"),
    ("no_error_is_swallowed", "core/a.py", "try:\n    f()\nexcept:\n    x = 1"),
    ("no_error_is_swallowed", "core/a.py", "try:\n    f()\nexcept (ValueError, BaseException) as e:\n    x = e"),
    ("no_rule_asks_which_language_it_reads", "core/reading/a.py", "x = language.code == other"),
    ("no_rule_asks_which_language_it_reads", "core/reading/a.py", "match code:\n    case 'de': x = 1"),
    ("parameters_are_few", "core/a.py", "def f(a, b, *, c, d, e, g, h, i, j): ..."),
    ("sql_lives_in_sql_files", "storage/a.py", "q = 'SELECT id FROM memory'"),
    ("sql_lives_in_sql_files", "storage/a.py", "q = f'INSERT INTO {x} VALUES (1)'"),
    ("sql_lives_in_sql_files", "storage/a.py", "q = 'UPDATE memory SET x = 1'"),
    ("sql_lives_in_sql_files", "storage/a.py", "q = 'CREATE VIRTUAL TABLE t USING fts5(x)'"),
    ("time_and_chance_come_from_the_engine", "core/a.py", "import datetime\nx = datetime.datetime.now()"),
    ("time_and_chance_come_from_the_engine", "server/a.py", "from datetime import datetime\nx = datetime.now(UTC)"),
    ("time_and_chance_come_from_the_engine", "storage/a.py", "import time\nx = time.time()"),
    ("time_and_chance_come_from_the_engine", "storage/a.py", "from time import time"),
    ("time_and_chance_come_from_the_engine", "storage/a.py", "import uuid"),
    ("time_and_chance_come_from_the_engine", "storage/a.py", "from random import choice"),
    ("words_of_a_language_stand_in_its_file", "core/reading/a.py", "x = frozenset('always never'.split())"),
    ("words_of_a_language_stand_in_its_file", "core/differences/a.py", "x = re.compile(r'\\b(?:nicht|kein)\\b')"),
    ("words_of_a_language_stand_in_its_file", "core/differences/a.py", "x = f'by {name}'"),
]

KEPT = [
    ("comparisons_know_the_policys_opposites", "core/a.py", "told = looked_at(near, ctx.policy.opposites)"),
    (
        "codes_stay_outside",
        "core/a.py",
        'x = ("F1", "D1:2", "PDF/A-3", "1E-3", "SHA-256", "%E5", "R1-exact", "HTTP 404")',
    ),
    ("environment_is_read_in_config_only", "config.py", "import os\nx = os.environ['A']"),
    ("frozen_records_are_cheap", "core/a.py", "@frozen\nclass A: ...\n@dataclass(slots=True)\nclass B: ..."),
    ("functions_are_short", "core/a.py", LONG_FUNCTION.replace("    x = 1\n", "", 1)),
    ("library_does_not_print", "cli/a.py", "print('x')"),
    ("no_error_is_swallowed", "storage/a.py", "try:\n    f()\nexcept BaseException:\n    rollback()\n    raise"),
    ("no_error_is_swallowed", "storage/a.py", "try:\n    f()\nexcept Exception as e:\n    raise Busy() from e"),
    ("no_error_is_swallowed", "storage/a.py", "try:\n    f()\nexcept ValueError:\n    pass"),
    ("no_rule_asks_which_language_it_reads", "core/lexicon/a.py", "x = language.code == 'de'"),
    ("no_rule_asks_which_language_it_reads", "core/reading/a.py", "x = lexicon().languages[language.code]"),
    ("parameters_are_few", "core/a.py", "class A:\n    def f(self, a, b, *, c, d, e, g, h, i): ..."),
    ("sql_lives_in_sql_files", "storage/a.py", '"""SELECT id FROM memory"""\nq = "PRAGMA user_version"'),
    ("time_and_chance_come_from_the_engine", "engine/a.py", "from datetime import datetime\nx = datetime.now(UTC)"),
    ("time_and_chance_come_from_the_engine", "storage/a.py", "import time\nx = time.monotonic()"),
    ("words_of_a_language_stand_in_its_file", "core/reading/a.py", "x = in_all_languages('nobody'), kind == 'only'"),
    ("words_of_a_language_stand_in_its_file", "core/reading/a.py", "__all__ = ('Order',)"),
    ("words_of_a_language_stand_in_its_file", "core/reading/a.py", "x = re.compile(r'(?P<word>[a-z]+)\\d')"),
    ("words_of_a_language_stand_in_its_file", "core/records/a.py", "x = 'not the same'"),
]


@pytest.mark.parametrize(("rule", "path", "text"), BROKEN)
def test_an_offence_is_noticed(rule: str, path: str, text: str) -> None:
    assert list(getattr(source_rules, rule)(Source(path, text)))


@pytest.mark.parametrize(("rule", "path", "text"), KEPT)
def test_what_is_allowed_is_left_alone(rule: str, path: str, text: str) -> None:
    assert not list(getattr(source_rules, rule)(Source(path, text)))


def test_every_rule_has_an_example_of_an_offence() -> None:
    assert {name_of(rule) for rule in RULES} == {rule for rule, _, _ in BROKEN}
