"""The list reader as an ONNX file in integers, which gives the same result on every processor.

python -m training.lists.export --run build/lists --vocabulary vocab.txt --out build/lists/lists.onnx
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from training.compose import Composer
from training.graph import DOUBLE, FLOAT, OF_ROWS, Graph, State
from training.lists.attention import Steps, attention, in_levels, steps_of
from training.lists.kept import reader_of
from training.lists.material import composed
from training.lists.model import ListModel, batch_of, from_pairs
from training.lists.reading import Logits, Reading
from training.material import cases, frames
from training.model import WIDTH
from training.quantise import Linear, quantised_over
from training.stories import TRAINING, labels_of, stories
from wellkept.models.onnx import session
from wellkept.models.tokenizer.lists import PARTS, ListReader, ListRow, fed, in_rows
from wellkept.models.tokenizer.pairs import LABELS, MARKS, SHARED

QUANTISING_LISTS, SEED = 120, 2
"""Training lists that the rounding of the weights is fitted on."""
WORDS = "words.weight"
INPUTS = ("pieces", "marks", "shared", "places", "blocks")


def main() -> None:
    """Command line of the export."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="folder of the run")
    parser.add_argument("--weights", default="averaged.pt", help="file of the weights in that folder")
    parser.add_argument("--vocabulary", type=Path, required=True, help="vocab.txt of all-MiniLM-L6-v2")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    args = parser.parse_args()
    torch.set_num_threads(1)
    model = from_pairs(torch.load(args.run / args.weights))
    export(model, rows_of(reader_of(args.run, args.vocabulary)), args.out)


def rows_of(reader: ListReader) -> list[ListRow]:
    """Training lists, of stories and composed, whose rows the rounding is fitted on."""
    chance, found = random.Random(SEED), stories(*TRAINING)
    composer = Composer(frames("train"), cases("train"), seed=SEED)
    rows = []
    while len(rows) < QUANTISING_LISTS:
        story = chance.choice(found)
        at = chance.randrange(1, len(story.lines))
        texts = chance.sample([line.text for line in story.lines[:at]], min(at, chance.randint(1, 8)))
        texts += [old.text for old in story.lines[:at] if labels_of(old, story.lines[at]) != ("distinct",)][:2]
        told, read = story.lines[at].text, list(dict.fromkeys(texts))
        if chance.random() < 0.3:
            listing = composed(chance, composer, cases("train"))
            told, read = listing.new, list(listing.texts)
        new, candidates = reader.read(told), [reader.read(text) for text in read]
        lists = in_rows(new, candidates)
        if lists:
            rows.append(reader.row(new, [candidates[place] for place in lists[0]]))
    return rows


def export(model: ListModel, rows: Sequence[ListRow], path: Path, *, with_words: bool = True) -> None:
    """Write the model as an ONNX file in integers, whose rounding is fitted on these rows.

    Args:
        with_words: Whether the file holds the vectors of pieces; otherwise they are its input `words`.
    """
    batches = [batch_of([row]) for row in rows]
    maps = quantised_over(model, ((batch.blocks >= 0, (batch,)) for batch in batches))
    steps = steps_of(model, maps, batches)
    state = {name: value.numpy() for name, value in model.state_dict().items() if with_words or name != WORDS}
    list_graph(state, maps, steps, path)


def list_graph(state: State, maps: Mapping[str, Linear], steps: Sequence[Steps], path: Path) -> None:
    """Write the list reader: the parts of one row (1, length) and what sees what to `logits` (candidates, 5)."""
    graph, maps = Graph(), in_levels(maps, steps)
    marks = state["marks.weight"]
    common = np.repeat(marks[[side * MARKS + SHARED for side in (0, 1)]], MARKS, axis=0)
    share = graph.op("Div", graph.cast("shared", FLOAT), graph.constant("parts", np.float32(PARTS)))
    share = graph.op("Unsqueeze", share, graph.axis(2))
    alone = graph.looked_up("marks.alone", marks, "marks")
    more = graph.op("Mul", graph.looked_up("marks.more", common - marks, "marks"), share)
    summed = graph.op("Add", graph.words(state, "places"), graph.op("Add", alone, more))
    hidden = graph.encoder(summed, state, maps, attention(graph, steps))
    seen = graph.op("Reshape", _seen(graph, hidden), graph.constant("inputs", np.array([-1, 4 * WIDTH], np.int64)))
    wide = graph.gelu(graph.linear("head.0", maps, graph.bytes_of(graph.cast(seen, FLOAT))), 256)
    logits = graph.linear("head.3", maps, graph.positive_bytes_of(wide))
    inputs = dict.fromkeys(INPUTS, OF_ROWS) | {
        "asking": ("candidates", "widest"),
        "asked": ("candidates", "seen"),
        "back": ("placed",),
    }
    graph.write(path, inputs, graph.cast(logits, DOUBLE), "logits", len(LABELS), per="candidates")


def _seen(graph: Graph, hidden: str) -> str:
    """The inputs of the head, as `training.lists.model.seen_of`, in double precision."""
    one, double = graph.constant("one", np.int64(1)), DOUBLE
    last = graph.op("ReduceMax", "blocks", keepdims=0)
    numbers = graph.op("Range", one, graph.op("Add", last, one), one)
    numbers = graph.op("Unsqueeze", numbers, graph.axis(0, 2))
    of_block = graph.op("Equal", graph.op("Unsqueeze", "blocks", graph.axis(1)), numbers)
    older = graph.op("Less", "marks", graph.constant("first_newer", np.int64(MARKS)))
    older = graph.op("Unsqueeze", older, graph.axis(1))
    first = graph.cast(graph.op("And", of_block, older), double)
    text = graph.cast(graph.op("And", of_block, graph.op("Not", older)), double)
    new = graph.op("Equal", "blocks", graph.constant("new_text", np.int64(0)))
    new = graph.cast(graph.op("Unsqueeze", new, graph.axis(1)), double)
    start = graph.op("MatMul", first, hidden)
    candidate = graph.op("MatMul", text, hidden)
    told = graph.op("Add", graph.op("MatMul", new, hidden), start)
    size = graph.op("ReduceSum", text, graph.axis(2), keepdims=1)
    of_new = graph.op("ReduceSum", new, graph.axis(2), keepdims=1)
    of_new = graph.op("Add", of_new, graph.constant("one_more", np.float64(1)))
    both = graph.op("Div", graph.op("Add", candidate, told), graph.op("Add", size, of_new))
    candidate = graph.op("Div", candidate, graph.op("Max", size, graph.constant("least", np.float64(1))))
    told = graph.op("Div", told, of_new)
    apart = graph.op("Abs", graph.op("Sub", told, candidate))
    return graph.op("Concat", start, both, apart, graph.op("Mul", told, candidate), axis=2)


def with_onnx(path: Path) -> Reading:
    """Reads with an exported file as the product would: one row to a run, nothing fused."""
    running = session(path.read_bytes(), what="the list reader", where=path, todo="", exact=True)

    def one(row: ListRow) -> Logits:
        return np.asarray(running.run(None, fed(row))[0], dtype=np.float64)

    return lambda rows: [one(row) for row in rows]


if __name__ == "__main__":
    main()
