"""`wellkept reembed` where a part of the embedder is broken: every namespace gets the vectors that can be made."""

from __future__ import annotations

import json
from dataclasses import replace

import wellkept
from surfaces.command_line import Cli
from wellkept.core.reading.language_detection import is_english
from wellkept.errors import ModelUnavailable
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.port import PartUnavailable
from wellkept.types import Filter

ENGLISH, GERMAN = "Tea at four.", "Tee um vier Uhr nachmittags."


def test_texts_of_one_namespace_do_not_keep_those_of_another_waiting(cli: Cli, monkeypatch) -> None:
    for namespace, text in (("a", GERMAN), ("b", ENGLISH)):
        cli("--namespace", namespace, "remember", text)
    whole = MiniLmEmbedder.embed

    def without_a_part(embedder, texts):
        places = [place for place, text in enumerate(texts) if not is_english(text)]
        if places:
            raise PartUnavailable(ModelUnavailable("a part is lost"), places)
        return whole(embedder, texts)

    monkeypatch.setattr(MiniLmEmbedder, "embed", without_a_part)
    broken = replace(cli, embedder="minilm")
    assert "a part is lost" in broken("reembed", code=1).stderr
    monkeypatch.undo()
    with wellkept.open(cli.file, embedder="minilm") as store:
        lacking = {name: len(store.in_namespace(name).list(Filter(embedded=False))) for name in ("a", "b")}
    assert lacking == {"a": 1, "b": 0}
    assert json.loads(broken("reembed", "--json").stdout)["embedded"] == 1


def test_an_embedder_that_reads_nothing_is_asked_in_one_namespace_only(cli: Cli, monkeypatch) -> None:
    for namespace in ("a", "b", "c"):
        cli("--namespace", namespace, "remember", ENGLISH)
    asked = []

    def down(embedder, texts):
        asked.append(texts)
        raise ModelUnavailable("the embedder is lost")

    monkeypatch.setattr(MiniLmEmbedder, "embed", down)
    assert "the embedder is lost" in replace(cli, embedder="minilm")("reembed", code=1).stderr
    assert len(asked) == 1
