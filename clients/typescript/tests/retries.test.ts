/** When a call is sent again: against servers that refuse, fail and are silent. */

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { inspect } from "node:util";

import { Busy, Client, ConfigError, StorageError, WellkeptError } from "../src/index.js";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

interface Seen {
  key: string | undefined;
  path: string | undefined;
}

/** Run `work` with a client of a server that gives these answers in turn, and the last one from then on. */
async function against(
  answers: Answer[],
  work: (client: Client, seen: Seen[], pauses: number[]) => Promise<void>,
  options: { timeout?: number } = {},
): Promise<void> {
  const seen: Seen[] = [];
  const pauses: number[] = [];
  const server = createServer((request, response) => {
    const answer = answers[Math.min(seen.length, answers.length - 1)];
    seen.push({ key: request.headers["idempotency-key"] as string | undefined, path: request.url });
    request.resume().on("end", () => answer?.(request, response));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const sleep = async (seconds: number): Promise<void> => void pauses.push(seconds);
  try {
    await work(new Client(`http://127.0.0.1:${port}/v1/`, { ...options, sleep, token: "wk_secret" }), seen, pauses);
  } finally {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
}

const good: Answer = (_, response) => void response.end('{"outcome": "created"}');
const cut: Answer = (request) => void request.socket.destroy();
const silent: Answer = () => {};
const status = (code: number, headers: Record<string, string> = {}, body = "{}"): Answer =>
  (_, response) => void response.writeHead(code, headers).end(body);

test("a keyed write is sent again under the same key, after the pause that the server asks for", () =>
  against([status(503, { "Retry-After": "7" }), cut, good], async (client, seen, pauses) => {
    await client.remember({ content: "x" });
    assert.equal(new Set(seen.map((one) => one.key)).size, 1);
    assert.match(seen[0]?.key ?? "", /^client-/);
    assert.deepEqual(pauses, [7, 0.4]);
  }));

test("a call that must not be repeated is not, unless it surely did not arrive or has a key", async () => {
  await against([cut, good], async (client, seen) => {
    await assert.rejects(client.revise({ memory_id: "a", content: "x" }), StorageError);
    assert.equal(seen.length, 1);
  });
  await against([status(503), good], async (client, seen) => {
    await assert.rejects(client.undo({ entry: 1 }), Busy);
    assert.equal(seen.length, 1);
  });
  await against([status(429, { "Retry-After": "99" }), good], async (client, seen, pauses) => {
    await client.undo({ entry: 1 });
    assert.deepEqual([seen.length, pauses], [2, [10]]);
  });
  await against([cut, good], async (client, seen) => {
    await client.recordTurn({ response: "x", frame: "task" }, { idempotencyKey: "k" });
    assert.deepEqual(seen.map((one) => one.key), ["k", "k"]);
  });
});

test("no attempt is left: the last failure is told, with the host and without the token", () =>
  against([status(503)], async (client, seen) => {
    await assert.rejects(client.stats(), (error) => error instanceof Busy && error.status === 503);
    assert.equal(seen.length, 3);
    assert.doesNotMatch(inspect(client, { depth: 9 }), /wk_secret/);
  }));

test("an answer that is late, even while its body comes, ends the call", () =>
  against([(_, response) => void response.writeHead(200).write("{"), silent], async (client, seen) => {
    await assert.rejects(client.forget({ memory_id: "a" }), /did not answer in time \(127\.0\.0\.1\)/);
    assert.equal(seen.length, 1);
  }, { timeout: 0.2 }));

test("a caller ends a call, which is not sent again", () =>
  against([silent], async (client, seen) => {
    const control = new AbortController();
    const asked = client.stats({ signal: control.signal });
    setTimeout(() => control.abort(new Error("enough")), 50);
    await assert.rejects(asked, /enough/);
    assert.ok(seen.length <= 1);
  }));

test("what is no answer of ours is said to be none, and nothing is followed to another host", async () => {
  for (const answer of [status(200, {}, "<html>"), status(200, {}, "[]")]) {
    await against([answer], async (client) => {
      await assert.rejects(client.stats(), /does not come from a Wellkept server/);
    });
  }
  await against([status(302, { Location: "http://127.0.0.1:9/" })], async (client, seen) => {
    await assert.rejects(client.stats(), (error) => error instanceof WellkeptError && error.status === 302);
    assert.equal(seen.length, 1);
  });
  const hostile = '{"type": "urn:wellkept:error:__proto__", "detail": 3, "conflicts": "x"}';
  await against([status(409, {}, hostile)], async (client) => {
    await assert.rejects(client.stats(), (error) => error instanceof WellkeptError && error.what === "the server answered 409");
  });
});

test("an address or a number that cannot be used is refused", () => {
  for (const url of ["", "file:///etc", "http://user:secret@host"]) {
    assert.throws(() => new Client(url), (error) => error instanceof ConfigError && !error.message.includes("secret"));
  }
  assert.throws(() => new Client("http://host", { retries: 21 }), ConfigError);
  assert.throws(() => new Client("http://host", { timeout: Number.NaN }), ConfigError);
  assert.throws(() => new Client("http://host").inSession("\ud800"), WellkeptError);
});

test("ids are one part of the path, and filters are JSON in the query", () =>
  against([status(200, {}, '{"memories": [], "more": false}')], async (client, seen) => {
    await client.get({ memory_id: "../a b" });
    await client.list({ where: { kinds: ["fact"], subject: "ü&" }, limit: 3 });
    assert.equal(seen[0]?.path, "/v1/memories/..%2Fa%20b");
    const query = new URL(seen[1]?.path ?? "", "http://host").searchParams;
    assert.deepEqual([query.get("where"), query.get("limit")], ['{"kinds":["fact"],"subject":"ü&"}', "3"]);
  }));
