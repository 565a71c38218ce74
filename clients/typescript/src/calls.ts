/** One call: its request, its attempts, and its answer or error. */

import { BY_STATUS, InvalidField, KINDS, NotFound, StorageError } from "./generated/errors.js";
import { type Problem, WellkeptError } from "./failure.js";

/** How an operation is sent. */
export interface Operation {
  method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** Its parameters, in braces, are fields of the input. */
  path: string;
  /** Whether it may be sent again when its arrival is unknown; `keyed`: with an idempotency key. */
  repeat: "always" | "keyed" | "never";
  /** Whether a block of deferred writes may queue it. */
  mayWait?: boolean;
  /** The type of the body, if it is not JSON. */
  media?: string;
  /** Whether the answer is text. */
  text?: boolean;
}

/** What one call may have of its own. */
export interface CallOptions {
  /** Makes a write safe to repeat; by default each call of such an operation has a new key. */
  idempotencyKey?: string;
  /** Ends the call early; what it was to write may have arrived. */
  signal?: AbortSignal;
}

/** Where calls go, and how long and how often they are tried. */
export interface Setting {
  url: string;
  host: string;
  timeout: number;
  retries: number;
  headers: Readonly<Record<string, string>>;
  fetch: typeof fetch;
  /** Waits; for tests. */
  sleep: (seconds: number) => Promise<void>;
}

/** Something that a fetch sends. */
export interface Sent {
  url: string;
  init: RequestInit;
}

const FIRST_PAUSE = 0.2;
const LONGEST_PAUSE = 10;
const LONGEST_TEXT = 2_000;
const URN = "urn:wellkept:error:";
const KEY = "Idempotency-Key";
/** Statuses after which the same request may succeed. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** Failures before which nothing has reached the server. */
const NOT_SENT: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT",
]);

/** The request of a call; all its attempts share it, and with it the idempotency key. */
export function request(operation: Operation, input: object, setting: Setting, options: CallOptions): Sent {
  const rest: Record<string, unknown> = { ...input };
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const part = segment(name === "entry" && typeof rest[name] === "number" ? String(rest[name]) : rest[name]);
    delete rest[name];
    return part;
  });
  const headers: Record<string, string> = { ...setting.headers };
  const key = options.idempotencyKey ?? rest["idempotency_key"];
  if (key !== undefined && key !== null && key !== "") {
    delete rest["idempotency_key"];
    headers[KEY] = String(key);
  } else if (operation.repeat === "keyed") {
    headers[KEY] = newKey();
  }
  const init: RequestInit = { method: operation.method, headers, redirect: "manual" };
  if (operation.media !== undefined) {
    headers["Content-Type"] = operation.media;
    init.body = String(rest["body"]);
    delete rest["body"];
    return { url: `${setting.url}${path}${queryOf(rest)}`, init };
  }
  if (operation.method === "GET" || operation.method === "DELETE") {
    return { url: `${setting.url}${path}${queryOf(rest)}`, init };
  }
  headers["Content-Type"] = "application/json";
  init.body = json(rest);
  return { url: `${setting.url}${path}`, init };
}

/** Sends a request until it is answered or may not be tried again; returns the answer's value. */
export async function sent<T>(operation: Operation, to: Sent, setting: Setting, options: CallOptions): Promise<T> {
  const repeatable = operation.repeat !== "never" || KEY in (to.init.headers as Record<string, string>);
  for (let turn = 0; ; turn += 1) {
    const came = await once(to, setting, options);
    const again =
      came.status === undefined
        ? came.notSent || repeatable
        : came.status === 429 || (PASSING.has(came.status) && repeatable);
    if (again && turn < setting.retries) {
      await setting.sleep(pause(turn, came.retryAfter));
      options.signal?.throwIfAborted();
      continue;
    }
    if (came.status === undefined) {
      const what = came.late ? "the server did not answer in time" : "the server cannot be reached";
      throw new StorageError(what, setting.host, "Check that `wellkept serve` runs there", {}, { cause: came.cause });
    }
    return outcome<T>(operation, came, setting.host);
  }
}

/** A new random key. */
export function newKey(): string {
  return `client-${crypto.randomUUID()}`;
}

/** A header's value; percent-encoded where it is not plain ASCII. */
export function header(text: string, name: string): string {
  try {
    return text.replace(/[^ -~]|[%\\`]/gu, encodeURIComponent);
  } catch (cause) {
    throw new InvalidField("this is not valid Unicode", name, "Use another name", {}, { cause });
  }
}

interface Answered {
  status: number;
  body: string;
  retryAfter: string;
}

interface Unanswered {
  status?: undefined;
  notSent: boolean;
  late: boolean;
  retryAfter: "";
  cause: unknown;
}

/** One attempt. The time counts for the whole answer. */
async function once(to: Sent, setting: Setting, options: CallOptions): Promise<Answered | Unanswered> {
  const limit = AbortSignal.timeout(setting.timeout * 1_000);
  const signal = options.signal === undefined ? limit : AbortSignal.any([limit, options.signal]);
  try {
    const response = await setting.fetch(to.url, { ...to.init, signal });
    const body = await response.text();
    return { status: response.status, body, retryAfter: response.headers.get("retry-after") ?? "" };
  } catch (error) {
    options.signal?.throwIfAborted();
    const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined;
    return { notSent: NOT_SENT.has(cause?.code), late: limit.aborted, retryAfter: "", cause: error };
  }
}

/** Seconds before the next attempt: what the server asks for within bounds, otherwise growing pauses. */
function pause(turn: number, asked: string): number {
  const seconds = /^\d+$/.test(asked) ? Number(asked.slice(0, 9)) : FIRST_PAUSE * 2 ** turn;
  return Math.min(seconds, LONGEST_PAUSE);
}

function outcome<T>(operation: Operation, came: Answered, host: string): T {
  if (came.status < 200 || came.status > 299) {
    throw failureOf(came);
  }
  if (operation.text === true) {
    return came.body as T;
  }
  const value = parsed(came.body);
  if (value === undefined) {
    throw new StorageError("the answer does not come from a Wellkept server", host, "Check the address");
  }
  return value as T;
}

/** An answer as an error. It is untrusted: it selects one of our classes by name, and its texts are cut. */
function failureOf(came: Answered): WellkeptError {
  const problem: Problem = { ...parsed(came.body), status: came.status };
  const text = (member: string): string => {
    const found = problem[member];
    return typeof found === "string" ? found.slice(0, LONGEST_TEXT) : "";
  };
  const named = text("type").startsWith(URN) ? text("type").slice(URN.length) : "";
  const kind = (Object.hasOwn(KINDS, named) ? KINDS[named] : BY_STATUS[came.status]) ?? WellkeptError;
  const what = text("detail") || text("error") || `the server answered ${came.status}`;
  return new kind(what, text("where"), text("todo"), problem);
}

/** The object in a text of JSON; undefined if there is none. */
function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** A text as one segment of a path. */
function segment(given: unknown): string {
  if (typeof given !== "string" || given === "") {
    throw new InvalidField(`${String(given).slice(0, 40)} is not an id`, "id", "List the memories to see their ids");
  }
  if (given === "." || given === "..") {
    throw new NotFound(`no memory ${given}`, "id", "List the memories to see their ids");
  }
  return encoded(given, "id");
}

function queryOf(fields: Record<string, unknown>): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === null) {
      continue;
    }
    const text = value instanceof Date ? json(value).slice(1, -1) : typeof value === "string" ? value : json(value);
    parts.push(`${encoded(name, name)}=${encoded(text, name)}`);
  }
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}

function encoded(text: string, where: string): string {
  try {
    return encodeURIComponent(text);
  } catch (cause) {
    throw new InvalidField("this is not valid Unicode", where, "Use another text", {}, { cause });
  }
}

function json(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new InvalidField("this cannot be sent as JSON", "body", "Use text, numbers, lists", {}, { cause });
  }
}
