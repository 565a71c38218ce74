"""Where a surface differs from the table on purpose, and why; everything else is the same."""

from __future__ import annotations

PYTHON_ONLY = {
    "progress": "a function, told how far the work is",
    "count_tokens": "a function",
    "contradiction_fn": "a function",
    "report": "a path; a server writes no files for its clients",
}
"""Parameters of library verbs that have no JSON form."""

PAGED: dict[str, dict[str, object]] = {
    "list": {"limit": 100}, "journal": {"limit": 100}, "history": {"limit": 100, "after": 0},
    **dict.fromkeys(("conflicts", "neighbors", "runs", "queue_pending"), {"limit": 100, "after": ""}),
    "answer": {"question": ""},
}  # fmt: skip
"""Lists that the library and the command line give whole, and the table a page at a time: its parameters for that.
`answer` takes the answers to many questions, each of which names its own."""
MORE = "more"
"""Of an answer that may have ended early, whether it did; nothing that is told whole says it."""
BESIDE: dict[str, set[str]] = {"list": {"marks", "wordings"}, "answer": {"errors"}}
"""What stands beside a list: notes in the table for people, and nothing in the lines, each of which is one item."""

CALLED_ONLY = {"asking": "`doctor` says it to people"}
"""Operations without a command of their own, and why; `wellkept call` has them."""
NO_TOOL_FIELDS = {"answer": {"by"}}
"""Fields that a tool does not have: whoever calls it is an agent."""
MORE_WORDS = {("undo_answers", "by"): {"answers"}}
"""Words that an option has beside those of the field: without one of them, `undo` takes no answers back."""

FILTER_OPTIONS = "kind, tag, subject, attribute, min_importance, since, until, source, meta"
COMMANDS = {
    "plan": "consolidate", "execute": "apply", "undo_run": "undo", "record_decision": "record",
    "start_episode": "episode start", "end_episode": "episode end", "queue_remember": "queue remember",
    "queue_pending": "queue list", "queue_flush": "queue flush", "queue_drop": "queue drop",
    "undo_answers": "undo",
}  # fmt: skip
"""Operations whose command has another name: a plan is made by a dry run of `consolidate`, applied by `apply`;
`undo --run` takes a run back; episodes and the queue have groups of commands."""

QUEUE = "queue_"
"""Before the name of a verb of `store.queue`."""

RENAMED: dict[str, dict[str, str]] = {
    "remember": {"content": "text"},
    "check": {"content": "text"},
    "revise": {"content": "text"},
    "remember_many": {"items": "file"},  # texts come from a file or a pipe, one a line
    "recall": {"include_superseded": "everything"},  # --all, as in journal
    "pack": {"budget_tokens": "budget"},
    "resolve": {"resolution": "how"},
    "plan": {"config": "rules", "scope": "kind"},  # groups of options: --rules, --threshold, --kind, --since, …
    "undo_run": {},
    "record_decision": {"content": "text"},
    "record_turn": {"response": "text"},
    "start_episode": {"content": "text"},
    "queue_remember": {"content": "text"},
}
"""Fields that a command spells otherwise."""

WITHOUT: dict[str, dict[str, str]] = {
    "recall": {"where": FILTER_OPTIONS},
    "list": {"where": FILTER_OPTIONS},
    "pack": {"where": FILTER_OPTIONS, "session": "a command is a process of its own, which ends with its session"},
}
"""Fields that no single option stands for, and what does."""

COMMAND_ONLY: dict[str, set[str]] = {
    "remember": {"file"},
    "check": {"file", "exit_code"},
    "revise": {"file"},
    "remember_many": {"lines"},
    "recall": {"depth"},  # of --expand
    "list": {"status"},
    "journal": {"everything"},
    "conflicts": {"exit_code"},
    "undo": {"run_id", "force_except", "last", "by", "since"},  # undo_run and answers; "last" is an id of it
    "undo_run": {"entry", "last", "by", "since"},
    "erase": {"yes"},  # people are asked
    "queue_drop": {"yes"},
    "questions": {"for_agent"},
    "answer": {"with_url", "model", "api", "limit", "tokens", "again", "dry_run"},  # a model that answers in its place
    "undo_answers": {"entry", "run_id", "force_except", "last"},
    "queue_remember": {"file"},
    "record_decision": {"file"},
    "record_turn": {"file"},
    "start_episode": {"file"},
    "plan": {"threshold", "trigger", "tag", "since", "until", "limit", "all_namespaces", "only", "skip", "report",
             "show", "execute", "plan"},
    "execute": {"report", "show"},
}  # fmt: skip
"""Options for people: where a text comes from, what is shown, the exit code."""

OTHER_DEFAULTS = {
    ("list", "limit"): "a page here, all there",
    ("journal", "newest"): "20 for people, told in the help; all for programs",
    ("remember_many", "items"): "standard input",
    ("undo", "entry"): "may stand back for --run",
    ("undo_run", "run_id"): "may stand back for an entry",
    ("answer", "by"): "a person at a terminal, an agent over other surfaces",
    ("answer", "question"): "the first word of the answer",
}

READ_FROM_TEXT = {"weights", "resolution", "polarity"}
"""Closed sets that an option reads from a text: `cosine=0.6,recency=0.4`, `keep-old` as well as `keep_old`,
a number. What is none of them is refused when it is read."""
OTHERWISE_MANY = {("remember_many", "items"), ("recall", "expand"), ("plan", "scope"), ("answer", "text")}
"""A file of lines; relations one by one; kinds one by one; the words of an answer."""
ASKED_FOR_OTHERWISE = {
    ("remember", "content"), ("check", "content"), ("queue_remember", "content"), ("record_decision", "content"),
    ("start_episode", "content"), ("record_turn", "response"), ("record_turn", "frame"), ("remember_many", "items"),
    ("undo", "entry"), ("undo_run", "run_id"), ("answer", "text"),
}  # fmt: skip
"""A text may come from a file or a pipe, `answer` alone asks for each, `undo` takes an entry or a run, and `--frame` is
an option of many commands: each is asked for by the command itself, as a usage error."""
