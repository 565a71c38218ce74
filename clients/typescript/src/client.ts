/** The client: an address with an identity, and the operations of the server as methods. */

import { type CallOptions, header, newKey, type Operation, request, sent, type Setting } from "./calls.js";
import { ConfigError } from "./generated/errors.js";
import { Operations } from "./generated/operations.js";

const NAMESPACE = "Wellkept-Namespace";
const SESSION = "Wellkept-Session";
const QUEUE = "Wellkept-Queue";
const MOST_RETRIES = 20;

/** The options of a client. */
export interface ClientOptions {
  /** Access token, sent as a bearer token. */
  token?: string;
  /** The namespace; by default that of the token or the server. */
  namespace?: string;
  /** The conversation that the calls belong to. */
  session?: string;
  /** Seconds for each answer, from the first byte sent to the last received; 30 by default. */
  timeout?: number;
  /** How often a call is repeated; 2 by default. */
  retries?: number;
  /** Replaces the network, for tests. */
  fetch?: typeof fetch;
  /** Waits between two attempts, for tests. */
  sleep?: (seconds: number) => Promise<void>;
}

/** The operations of a server for one namespace and one conversation, as a `Client` or one bound to it. */
export class BoundClient extends Operations {
  readonly #setting: Setting;
  /** The queues that a block of deferred writes has used, by namespace and session; undefined outside a block. */
  readonly #queues: Map<string, BoundClient> | undefined;

  protected constructor(setting: Setting, queues?: Map<string, BoundClient>) {
    super();
    this.#setting = setting;
    this.#queues = queues;
  }

  /** A client of the same server for another namespace. */
  inNamespace(name: string): BoundClient {
    return this.#bound({ [NAMESPACE]: header(name, "namespace") });
  }

  /** A client of the same server for a conversation. */
  inSession(name: string): BoundClient {
    return this.#bound({ [SESSION]: header(name, "session") });
  }

  /**
   * Queue the writes that `work` makes with the client that it gets, and store them at its end, also if it fails.
   *
   * @example
   * await store.deferred(async (later) => { await later.remember({ content: "Tea is upstairs." }); });
   */
  async deferred<T>(work: (later: BoundClient) => Promise<T>): Promise<T> {
    const queues = new Map<string, BoundClient>();
    const session = this.#setting.headers[SESSION] ?? `deferred-${newKey()}`;
    let result: T;
    try {
      result = await work(this.#bound({ [SESSION]: session }, queues));
    } catch (error) {
      // The caller hears why the block failed; what cannot be stored now, the server stores after a while.
      await flushed(queues).catch(() => undefined);
      throw error;
    }
    await flushed(queues);
    return result;
  }

  protected override async send<T>(operation: Operation, input: object, options: CallOptions = {}): Promise<T> {
    let setting = this.#setting;
    if (this.#queues !== undefined && operation.mayWait === true) {
      const { [NAMESPACE]: namespace = "", [SESSION]: session = "" } = setting.headers;
      this.#queues.set(`${namespace} ${session}`, this);
      setting = { ...setting, headers: { ...setting.headers, [QUEUE]: "on" } };
    }
    return sent<T>(operation, request(operation, input, setting, options), setting, options);
  }

  #bound(headers: Record<string, string>, queues = this.#queues): BoundClient {
    return new BoundClient({ ...this.#setting, headers: { ...this.#setting.headers, ...headers } }, queues);
  }
}

/**
 * A store behind `wellkept serve`: one method for each operation, typed.
 *
 * A call that is safe to repeat is sent again after a lost connection; `remember`, `recordDecision`, `startEpisode`
 * and `queueRemember` send an idempotency key for that. Errors are those of the library, by name.
 *
 * @example
 * const store = new Client("http://127.0.0.1:8642", { namespace: "acme/alice" });
 * const { outcome } = await store.remember({ content: "Use ruff for linting.", kind: "lesson" });
 */
export class Client extends BoundClient {
  /**
   * @param url Address of the server, such as `http://127.0.0.1:8642`.
   * @param options Token, namespace, session, time and retries.
   * @throws ConfigError The address is no HTTP URL, or a number is out of range.
   */
  constructor(url: string, options: ClientOptions = {}) {
    super(settingOf(url, options));
  }
}

/** Store what waits in queues. */
async function flushed(queues: Map<string, BoundClient>): Promise<void> {
  for (const queue of queues.values()) {
    await queue.queueFlush({ again: true });
  }
}

function settingOf(given: string, options: ClientOptions): Setting {
  let url: URL;
  try {
    url = new URL(given);
  } catch {
    // The address may hold a password, so no message quotes it.
    throw new ConfigError("this is not a URL", "url", "Use http://127.0.0.1:8642");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new ConfigError("the address must begin with http:// or https://", "url", "Check it");
  }
  if (url.username !== "" || url.password !== "") {
    throw new ConfigError("the address must hold no password", "url", "Pass a token");
  }
  const { retries = 2, timeout = 30 } = options;
  if (!Number.isInteger(retries) || retries < 0 || retries > MOST_RETRIES) {
    throw new ConfigError(`is not a number from 0 to ${MOST_RETRIES}`, "retries", "Use 2");
  }
  if (!(timeout > 0 && timeout <= 86_400)) {
    throw new ConfigError("is not a number of seconds", "timeout", "Use 30");
  }
  const headers: Record<string, string> = { Accept: "application/json" };
  if (options.token) {
    headers["Authorization"] = `Bearer ${options.token}`;
  }
  if (options.namespace) {
    headers[NAMESPACE] = header(options.namespace, "namespace");
  }
  if (options.session) {
    headers[SESSION] = header(options.session, "session");
  }
  return {
    url: `${url.origin}${url.pathname}`.replace(/\/+$/, "").replace(/\/v1$/, ""),
    host: url.hostname,
    timeout,
    retries,
    headers,
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    sleep: options.sleep ?? ((seconds) => new Promise((done) => setTimeout(done, seconds * 1_000))),
  };
}
