"""House rules that no linter checks: each is a function from one source file to its offences."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from architecture import lexicon_words

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 80
MAX_PARAMETERS = 8

SWALLOWS_ALLOWED = frozenset({"engine/models/fail_open.py", "testing/conformance.py", "testing/checks/isolation.py"})
"""Files that may catch everything and go on: `failopen` turns what foreign models raise into a value, and the
test kit reports whatever a foreign backend raises."""

_CLOCKS = {
    ("datetime", "now"),
    ("datetime", "today"),
    ("datetime", "utcnow"),
    ("date", "today"),
    ("time", "localtime"),
    ("time", "gmtime"),
    ("time", "time"),
    ("time", "time_ns"),
}
_CHANCE = {"random", "secrets", "uuid"}
_SQL = re.compile(
    r"\b(SELECT\s.+\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|REPLACE\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM"
    r"|(CREATE|DROP|ALTER)\s+(UNIQUE\s+|VIRTUAL\s+)?(TABLE|INDEX|TRIGGER|VIEW))\b",
    re.DOTALL,
)


_CODE = re.compile(
    r"\bS\d-\d+|\bS[0-4]\b(?!-)|\b[BEF]-\d+|\bI(?:[1-9]|1[01])\b|\([NADE]\d{1,2}[,)]|§\s?\d"
    r"|\bdesign(?:\.md)? §|\bhost-systems\b|\b(?:source|seed|issue)s? 0\d\d\b"
)


@dataclass(frozen=True)
class Source:
    """A file of the package: its path below `src/wellkept` and its text."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    def below(self, *places: str) -> bool:
        return self.path.startswith(places)


Rule = Callable[[Source], Iterator[str]]


def file_is_short(source: Source) -> Iterator[str]:
    """At most 600 lines a file."""
    lines = len(source.text.splitlines())
    if lines > MAX_FILE_LINES:
        yield f"{lines} lines"


def codes_stay_outside(source: Source) -> Iterator[str]:
    """Readers of the source have no list of requirements: no code of one, and no section of a design."""
    for number, line in enumerate(source.text.splitlines(), 1):
        for code in _CODE.finditer(line):
            yield f"{number}: {code[0]}"


def functions_are_short(source: Source) -> Iterator[str]:
    """At most 80 lines a function."""
    for function in _functions(source):
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > MAX_FUNCTION_LINES:
            yield f"{function.lineno}: {function.name} has {lines} lines"


def parameters_are_few(source: Source) -> Iterator[str]:
    """At most 8 parameters, all but the first two by keyword; `self` and `cls` do not count."""
    for function in _functions(source):
        arguments = function.args
        positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args) if a.arg not in ("self", "cls")]
        count = len(positional) + len(arguments.kwonlyargs)
        if count > MAX_PARAMETERS:
            yield f"{function.lineno}: {function.name} has {count} parameters"


def module_says_what_it_is(source: Source) -> Iterator[str]:
    """Every file starts with a docstring."""
    if not ast.get_docstring(source.tree):
        yield "1: no docstring"


def environment_is_read_in_config_only(source: Source) -> Iterator[str]:
    """Only `config.py` reads the environment; one module passes it on to the daemon, before settings are read."""
    if source.path in ("config.py", "cli/daemon/environment.py"):
        return
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv", "putenv") and _is(node.value, "os"):
            yield f"{node.lineno}: os.{node.attr}"
        if isinstance(node, ast.ImportFrom) and node.module == "os":
            yield from (f"{node.lineno}: {a.name}" for a in node.names if a.name in ("environ", "getenv", "putenv"))


def time_and_chance_come_from_the_engine(source: Source) -> Iterator[str]:
    """Clock, ids and randomness are arguments; only `engine/` and `testing/` make them (I4)."""
    if source.below("engine/", "testing/"):
        return
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and any(
            _is(node.value, owner) and node.attr == name for owner, name in _CLOCKS
        ):
            yield f"{node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.Import):
            yield from (f"{node.lineno}: import {a.name}" for a in node.names if a.name in _CHANCE)
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module in _CHANCE:
                yield f"{node.lineno}: from {node.module}"
            yield from (
                f"{node.lineno}: from {node.module} import {a.name}"
                for a in node.names
                if node.module == "time" and (node.module, a.name) in _CLOCKS
            )


def library_does_not_print(source: Source) -> Iterator[str]:
    """Only the command line and the server speak to a terminal."""
    if source.below("cli/") or source.below("server/"):
        return
    for node in source.nodes:
        if isinstance(node, ast.Call) and _is(node.func, "print"):
            yield f"{node.lineno}: print"


def no_error_is_swallowed(source: Source) -> Iterator[str]:
    """Code that catches every exception raises it again (rollback), or is on the list."""
    if source.path in SWALLOWS_ALLOWED:
        return
    for node in source.nodes:
        if isinstance(node, ast.ExceptHandler) and _catches_everything(node.type) and not _raises_at_the_end(node.body):
            yield f"{node.lineno}: catches everything and goes on"


def frozen_records_are_cheap(source: Source) -> Iterator[str]:
    """Frozen dataclasses with slots are made by `wellkept.frozen`, which costs a third when they are imported."""
    if source.path == "frozen.py":
        return
    for node in source.nodes:
        if isinstance(node, ast.Call) and _is(node.func, "dataclass"):
            if {"frozen", "slots"} <= {keyword.arg for keyword in node.keywords}:
                yield f"{node.lineno}: dataclass(frozen=True, slots=True)"


def sql_lives_in_sql_files(source: Source) -> Iterator[str]:
    """No statement is built in Python; names of statements and PRAGMAs are fine."""
    if source.path.startswith("testing/"):
        return  # hostile texts quote SQL
    docstrings = {id(node) for node in _docstrings(source.tree)}
    for node in source.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            if found := _SQL.search(node.value):
                yield f"{node.lineno}: {found.group(0)[:40]!r}"


def comparisons_know_the_policys_opposites(source: Source) -> Iterator[str]:
    """Every comparison of two texts in core or engine passes the policy's own antonyms."""
    if not source.below("core/", "engine/"):
        return
    for node in source.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _COMPARING:
            told = [*node.args, *(given.value for given in node.keywords)]
            if not any("opposites" in ast.unparse(given) for given in told):
                yield f"{node.lineno}: {node.func.id} without `opposites`"


def words_of_a_language_stand_in_its_file(source: Source) -> Iterator[str]:
    """What reads texts names word lists and holds none: a word of a language stands in its TOML file."""
    if not source.below("core/reading/", "core/differences/"):
        return
    listed, names = lexicon_words.listed(), lexicon_words.names()
    skipped = {id(node) for node in _docstrings(source.tree)} | _exported(source.tree)
    for node in source.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            found = [word for word in lexicon_words.of_text(node.value) if word in listed]
            if found and node.value not in names:
                yield f"{node.lineno}: {found[0]!r} in {node.value[:40]!r}"


def no_rule_asks_which_language_it_reads(source: Source) -> Iterator[str]:
    """A property of a language stands in its file, so that adding a language is one file."""
    if not source.below("core/") or source.below("core/lexicon/"):
        return
    for node in source.nodes:
        if isinstance(node, ast.Constant) and node.value in lexicon_words.codes():
            yield f"{node.lineno}: {node.value!r}"
        if isinstance(node, ast.Compare) and any(
            isinstance(side, ast.Attribute) and side.attr == "code" for side in (node.left, *node.comparators)
        ):
            yield f"{node.lineno}: {ast.unparse(node)}"


_COMPARING = frozenset(
    (
        "compare differences excludes is_vetoed is_barred is_plainly_apart looked_at open_pairs contradicted "
        "bare_texts with_bare_texts"
    ).split()
)


RULES: tuple[Rule, ...] = (
    comparisons_know_the_policys_opposites,
    codes_stay_outside,
    environment_is_read_in_config_only,
    file_is_short,
    frozen_records_are_cheap,
    functions_are_short,
    library_does_not_print,
    module_says_what_it_is,
    no_error_is_swallowed,
    no_rule_asks_which_language_it_reads,
    parameters_are_few,
    sql_lives_in_sql_files,
    time_and_chance_come_from_the_engine,
    words_of_a_language_stand_in_its_file,
)


def _functions(source: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in source.nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def _is(node: ast.expr, name: str) -> bool:
    """`name`, or `anything.name` as in `datetime.datetime.now`."""
    return isinstance(node, ast.Name) and node.id == name or isinstance(node, ast.Attribute) and node.attr == name


def _catches_everything(caught: ast.expr | None) -> bool:
    match caught:
        case None:
            return True
        case ast.Tuple(elts=elements):
            return any(_catches_everything(element) for element in elements)
        case _:
            return _is(caught, "Exception") or _is(caught, "BaseException")


def _raises_at_the_end(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Raise)


def _docstrings(tree: ast.Module) -> Iterator[ast.expr]:
    """Strings that stand alone as a statement: docstrings of modules, classes, functions, attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _exported(tree: ast.Module) -> set[int]:
    """The names in `__all__`."""
    return {
        id(constant)
        for node in tree.body
        if isinstance(node, ast.Assign) and any(_is(target, "__all__") for target in node.targets)
        for constant in ast.walk(node.value)
    }
