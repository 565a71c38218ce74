/** Long lists: all items of all pages, fetched as they are read. */

import type { BoundClient } from "./client.js";
import type {
  ConflictsInput, HistoryInput, JournalInput, ListInput, NeighborsInput, QueuePendingInput, RunsInput,
} from "./generated/inputs.js";
import type { Conflict, JournalEntry, Memory, Neighbour, QueuedWrite, RunLine, Version } from "./generated/records.js";

const MOST = 1_000;

/** One page: the first, or the one after an item. */
interface From<Place> {
  limit: number;
  after?: Place;
}

/** All memories that match a filter, in its direction. */
export async function* allMemories(client: BoundClient, input: Omit<ListInput, "limit"> = {}): AsyncGenerator<Memory> {
  let where = input.where;
  const backward = where?.before !== undefined && where.before !== null;
  for (;;) {
    const page = await client.list({ ...(where === undefined ? {} : { where }), limit: MOST });
    yield* backward ? [...page.memories].reverse() : page.memories;
    const last = backward ? page.memories[0] : page.memories.at(-1);
    if (!page.more || last === undefined) {
      return;
    }
    if (where?.ids) {
      where = { ...where, ids: where.ids.slice(where.ids.indexOf(last.id) + 1) };
    } else {
      where = { ...where, [backward ? "before" : "after"]: [last.created_at, last.id] };
    }
  }
}

/** All entries of the journal, oldest first. */
export function allEntries(client: BoundClient, input: Omit<JournalInput, "limit" | "newest"> = {}): AsyncGenerator<JournalEntry> {
  return all((place: From<number>) => client.journal({ ...input, ...place }), (page) => page.entries, (entry) => entry.seq);
}

/** All versions of a memory, oldest first. */
export function allVersions(client: BoundClient, input: Omit<HistoryInput, "limit">): AsyncGenerator<Version> {
  return all((place: From<number>) => client.history({ ...input, ...place }), (page) => page.versions, (version) => version.seq);
}

/** All conflicts. */
export function allConflicts(client: BoundClient, input: Omit<ConflictsInput, "limit"> = {}): AsyncGenerator<Conflict> {
  return all((place: From<string>) => client.conflicts({ ...input, ...place }), (page) => page.conflicts, (conflict) => conflict.key);
}

/** All memories that links lead to, nearest first. */
export function allNeighbors(client: BoundClient, input: Omit<NeighborsInput, "limit">): AsyncGenerator<Neighbour> {
  return all((place: From<string>) => client.neighbors({ ...input, ...place }), (page) => page.neighbors, (one) => one.memory.id);
}

/** All runs. */
export function allRuns(client: BoundClient, input: Omit<RunsInput, "limit"> = {}): AsyncGenerator<RunLine> {
  return all((place: From<string>) => client.runs({ ...input, ...place }), (page) => page.runs, (run) => run.run_id);
}

/** All writes that wait in the queue of the client's session. */
export function allPending(client: BoundClient, input: Omit<QueuePendingInput, "limit"> = {}): AsyncGenerator<QueuedWrite> {
  return all((place: From<string>) => client.queuePending({ ...input, ...place }), (page) => page.pending, (one) => one.id);
}

async function* all<Page extends { more: boolean }, Item, Place>(
  fetched: (place: From<Place>) => Promise<Page>,
  items: (page: Page) => Item[],
  placeOf: (item: Item) => Place,
): AsyncGenerator<Item> {
  let place: From<Place> = { limit: MOST };
  for (;;) {
    const page = await fetched(place);
    const found = items(page);
    yield* found;
    const last = found.at(-1);
    if (!page.more || last === undefined) {
      return;
    }
    place = { limit: MOST, after: placeOf(last) };
  }
}
