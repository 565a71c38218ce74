"""Run the ```console blocks of the documents and compare what they print.

A block is run when one of its commands is `wellkept`; others (`$ make demo`, `$ pip install …`) are
only shown. Each `$` line is one shell command, run in the document's folder; a backslash at the end
continues it. The lines up to the next `$` are its expected output, standard output and error mixed.
Without such lines only the exit code counts. `# exit 3` at the end of a command expects that code.

Ids, times, dates and durations may differ from run to run and are made equal before the comparison;
`...` stands for anything and the amount of white space does not matter, as in a doctest.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from sybil import Example

LIMIT_SECONDS = 120
WIDTH = "100"

_SHIFTING = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,64}\b"), "<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?"), "<time>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "<date>"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s|seconds?)\b"), "<duration>"),
)
_EXIT = re.compile(r"\s+# exit (\d+)\s*$")


@dataclass(frozen=True)
class Command:
    """One `$` line with what it should print and how it should end."""

    line: str
    expected: str
    exit_code: int


def parse(block: str) -> list[Command]:
    """The commands of a console block, in order."""
    commands: list[Command] = []
    lines = block.replace("\\\n", " ").splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        line = lines[start][2:].strip()
        ending = _EXIT.search(line)
        commands.append(
            Command(
                line=_EXIT.sub("", line),
                expected="\n".join(lines[start + 1 : end]).strip(),
                exit_code=int(ending.group(1)) if ending else 0,
            )
        )
    return commands


def settle(text: str) -> str:
    """The text with everything that differs from run to run replaced by a name for it."""
    for pattern, name in _SHIFTING:
        text = pattern.sub(name, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def difference(command: Command, output: str, exit_code: int) -> str:
    """Why the command did not do what the document says; empty when it did."""
    if exit_code != command.exit_code:
        return f"`{command.line}` ended with {exit_code}, not {command.exit_code}, and printed:\n{output}"
    if not command.expected:
        return ""
    expected, got = settle(command.expected), settle(output)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    if doctest.OutputChecker().check_output(expected + "\n", got + "\n", flags):
        return ""
    return f"`{command.line}` printed something else.\nIn the document:\n{expected}\nPrinted:\n{got}"


def run_console_block(example: Example) -> str:
    """Evaluate one block for Sybil: the first difference, or the empty string."""
    commands = parse(str(example.parsed))
    if not any(command.line.split()[:1] == ["wellkept"] for command in commands):
        return ""
    environment = {
        **os.environ,
        "COLUMNS": WIDTH,
        "NO_COLOR": "1",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TERM": "dumb",
    }
    for command in commands:
        done = subprocess.run(
            command.line,
            shell=True,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=LIMIT_SECONDS,
            check=False,
        )
        if problem := difference(command, done.stdout, done.returncode):
            return problem
    return ""
