/** Client of a Wellkept server: one typed method for each operation. */

export type { CallOptions } from "./calls.js";
export { BoundClient, Client, type ClientOptions } from "./client.js";
export { type ConflictReference, WellkeptError } from "./failure.js";
export * from "./generated/errors.js";
export type * from "./generated/inputs.js";
export type * from "./generated/records.js";
export * from "./pages.js";
