/** The client against a running server, whose address is in `WELLKEPT_URL`. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  allConflicts, allEntries, allMemories, allVersions, BoundClient, Client, ConflictError, EmptyContent, InvalidField,
  NotFound, StorageError, WellkeptError, type WriteResult,
} from "../src/index.js";

const server = new Client(process.env["WELLKEPT_URL"] ?? "");
let places = 0;

/** A namespace that no other test uses. */
function place(): BoundClient {
  places += 1;
  return server.inNamespace(`node/${process.pid}-${places}`);
}

test("a memory is stored once, found, revised, forgotten, and brought back", async () => {
  const store = place();
  const made = await store.remember({ content: "The test database listens on port 5433.", kind: "fact" });
  assert.equal(made.outcome, "created");
  const again: WriteResult = await store.remember({ content: "the test database listens on port 5433", kind: "fact" });
  assert.equal(again.outcome, "duplicate");
  const id = made.memory?.id ?? "";
  const { hits } = await store.recall({ query: "port of the test database", where: { kinds: ["fact"] } });
  assert.deepEqual(hits.map((hit) => hit.memory.id), [id]);
  assert.match((await store.pack({ query: "port of the test database" })).text, /5433/);
  assert.match((await store.revise({ memory_id: id, content: "It listens on port 5434." })).content, /5434/);
  const { entry } = await store.forget({ memory_id: id });
  assert.equal((await store.get({ memory_id: id, touch: false })).status, "archived");
  await store.undo({ entry });
  assert.equal((await store.get({ memory_id: id })).status, "active");
  const told = [];
  for await (const version of allVersions(store, { memory_id: id })) told.push(version.memory?.content);
  assert.equal(told[0], "The test database listens on port 5433.");
  await store.erase({ memory_id: id });
  assert.deepEqual(await store.get({ memory_id: id }).then((left) => [left.status, left.content]), ["erased", ""]);
});

test("a key makes a write that is repeated one write", async () => {
  const store = place();
  const trade = { content: "Sold ten at 5.31.", kind: "trade" as const };
  const ids = new Set<string | undefined>();
  for (let turn = 0; turn < 3; turn += 1) {
    ids.add((await store.remember(trade, { idempotencyKey: "job-17" })).memory?.id);
  }
  assert.equal(ids.size, 1);
  assert.equal((await store.remember({ ...trade, idempotency_key: "job-17" })).memory?.id, [...ids][0]);
  await assert.rejects(
    store.remember({ ...trade, content: "Sold two." }, { idempotencyKey: "job-17" }),
    (error) => error instanceof WellkeptError && error.name === "IdempotencyMismatch" && error.status === 409,
  );
});

test("an error has the class, the place and the remedy that the server names", async () => {
  const store = place();
  await store.remember({ content: "The limit is 0.85.", kind: "lesson" });
  await assert.rejects(
    store.remember({ content: "The limit is 0.95.", kind: "lesson", on_conflict: "raise" }),
    (error) => error instanceof ConflictError && error.conflicts[0]?.reason === "value_diff",
  );
  await assert.rejects(store.remember({ content: " " }), EmptyContent);
  await assert.rejects(store.get({ memory_id: "nobody" }), NotFound);
  await assert.rejects(store.get({ memory_id: "" }), InvalidField);
  await assert.rejects(store.get({ memory_id: ".." }), NotFound);
  await assert.rejects(new Client("http://127.0.0.1:9", { retries: 0 }).stats(), StorageError);
});

test("names of every script reach the server, and conversations and namespaces are kept apart", async () => {
  const ada = server.inNamespace(`node/名前 ${process.pid}`);
  await ada.remember({ content: "Tea is upstairs — ☕ 100 % `sure`." });
  const [only] = (await ada.list()).memories;
  assert.equal(only?.content, "Tea is upstairs — ☕ 100 % `sure`.");
  assert.equal((await ada.stats()).namespace, `node/名前 ${process.pid}`);
  assert.deepEqual((await place().list()).memories, []);
});

test("deferred writes wait until the block ends, also in another namespace and when the block fails", async () => {
  const [here, there] = [place(), place()];
  const outcomes = await here.deferred(async (later) => {
    const first = await later.remember({ content: "Funding flips first.", kind: "thesis" });
    assert.deepEqual((await here.list()).memories, []);
    assert.equal((await later.queuePending()).pending.length, 1);
    return [first.outcome];
  });
  assert.deepEqual(outcomes, ["queued"]);
  assert.equal((await here.list()).memories.length, 1);
  const name = (await there.stats()).namespace;
  const failing = here.deferred(async (later) => {
    await later.inNamespace(name).remember({ content: "Longs pay shorts.", kind: "thesis" });
    throw new Error("stop");
  });
  await assert.rejects(failing, /stop/);
  assert.equal((await there.list()).memories.length, 1);
});

test("lists are whole, in both directions, and times may be dates", async () => {
  const store = place();
  const items = Array.from({ length: 1_003 }, (_, index) => ({ content: `Trade ${index}.`, kind: "trade" }));
  await store.rememberMany({ items: items.slice(0, 1_000) });
  await store.rememberMany({ items: items.slice(1_000) });
  const found = [];
  for await (const memory of allMemories(store)) found.push(memory);
  assert.equal(found.length, 1_003);
  const last = found.at(-1);
  assert.ok(last !== undefined);
  const back = [];
  for await (const memory of allMemories(store, { where: { before: [last.created_at, last.id] } })) back.push(memory.id);
  assert.deepEqual(back, found.slice(0, -1).map((memory) => memory.id).reverse());
  let entries = 0;
  for await (const entry of allEntries(store)) entries += Math.sign(entry.seq);
  assert.ok(entries >= 1_003);
  for await (const conflict of allConflicts(store)) assert.fail(conflict.key);
  const future = new Date(Date.now() + 3_600_000);
  assert.deepEqual((await store.list({ where: { created_from: future } })).memories, []);
  assert.equal((await store.journal({ newest: 1 })).entries.length, 1);
});

test("a verdict is given by the number of the entry that decided", async () => {
  const store = place();
  const made = await store.remember({ content: "Tea is upstairs." });
  assert.deepEqual(await store.judge({ entry: made.entry, verdict: "right" }), { entry: made.entry + 1 });
  assert.deepEqual(await store.judge({ entry: made.entry, verdict: "right" }), { entry: 0 });
  await assert.rejects(store.judge({ entry: 999, verdict: "wrong" }), NotFound);
});

test("text and JSON lines go through as they are", async () => {
  const store = place();
  const told = await store.import({ body: '{"text": "Tea is upstairs."}\n', source: "notes" });
  assert.equal(JSON.parse(told.split("\n")[0] ?? "").outcome, "created");
  assert.match(await server.metrics(), /wellkept_requests_total/);
  assert.deepEqual(await server.healthz(), { status: "ok" });
});
