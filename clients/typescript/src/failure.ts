/** The base of all errors of the client. The other classes stand in `generated/errors.ts`. */

/** A conflict that a refused write would have made, without texts. */
export interface ConflictReference {
  kind: string;
  reason: string;
  memory_id: string;
  similarity: number | null;
}

/** The members of an error's answer (RFC 9457). */
export type Problem = Readonly<Record<string, unknown>>;

/** An error with a description, a location and a remedy. */
export class WellkeptError extends Error {
  /**
   * @param what The problem, in one sentence.
   * @param where The field, id or host concerned; empty for none.
   * @param todo The remedy; empty for none.
   * @param problem The answer of the server; empty for none.
   */
  constructor(
    readonly what: string,
    readonly where = "",
    readonly todo = "",
    readonly problem: Problem = {},
    options?: ErrorOptions,
  ) {
    const parts = [where === "" ? what : `${what} (${where})`, ...(todo === "" ? [] : [todo])];
    super(`${parts.map((part) => part.replace(/\.+$/, "")).join(". ")}.`, options);
    this.name = new.target.name;
  }

  /** The HTTP status; undefined where no answer came. */
  get status(): number | undefined {
    return typeof this.problem["status"] === "number" ? this.problem["status"] : undefined;
  }

  protected listed<T>(member: string): T[] {
    const found = this.problem[member];
    return Array.isArray(found) ? (found as T[]) : [];
  }
}
