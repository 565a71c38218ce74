// Made by generate.py from the OpenAPI document of the server; changes here are lost.

import { type ConflictReference, WellkeptError } from "../failure.js";

/** The settings are invalid. */
export class ConfigError extends WellkeptError {}

/** A conflict was found under `on_conflict="raise"`; nothing was written. */
export class ConflictError extends WellkeptError {
  /** References to the conflicting memories, without their texts. */
  get conflicts(): ConflictReference[] {
    return this.listed<ConflictReference>("conflicts");
  }
}

/** An idempotency key was used before with another payload; nothing was written. */
export class IdempotencyMismatch extends WellkeptError {}

/** A model failed. */
export class ModelError extends WellkeptError {}

/** The store cannot be opened, read or written. */
export class StorageError extends WellkeptError {}

/** Later changes prevent an undo. */
export class UndoBlocked extends WellkeptError {
  /** The later entries that prevent the undo. */
  get entries(): number[] {
    return this.listed<number>("entries");
  }
}

/** A short id matches several memories. */
export class AmbiguousId extends WellkeptError {}

/** Another writer held the lock for too long; the call may be repeated unchanged. */
export class Busy extends StorageError {}

/** The store's file is truncated or damaged. */
export class Corrupt extends StorageError {}

/** The namespace lives in another of several databases; nothing was read or written. */
export class Elsewhere extends StorageError {}

/** The store's vectors come from another embedder; vectors of two embedders are never mixed. */
export class EmbedderMismatch extends StorageError {}

/** The agent framework of an integration is not installed, or its version is not known to work. */
export class FrameworkUnavailable extends ConfigError {}

/** No space is left; nothing was partly written. */
export class Full extends StorageError {}

/** The caller's value is invalid; nothing was written. */
export class InvalidInput extends WellkeptError {}

/** The model's answer cannot be used. */
export class ModelResponseInvalid extends ModelError {}

/** The model cannot be loaded or reached. */
export class ModelUnavailable extends ModelError {}

/** The file is not a Wellkept store. */
export class NotAStore extends StorageError {}

/** There is no such memory, journal entry or conflict in this namespace. */
export class NotFound extends WellkeptError {}

/** A database with access rules received no token, or a token that does not (or no longer) allow this. */
export class NotPermitted extends StorageError {}

/** The store cannot be written. */
export class ReadOnly extends StorageError {}

/** The store was written by a newer release. */
export class SchemaTooNew extends StorageError {}

/** The path is a directory, lies in a missing directory, or may not be opened. */
export class StorePathError extends StorageError {}

/** No backend supports this URL; another backend is never used instead. */
export class UnknownBackend extends StorageError {}

/** The text is longer than the policy allows. */
export class ContentTooLarge extends InvalidInput {}

/** The supersession would create a cycle. */
export class CycleError extends InvalidInput {}

/** The text is empty or only white space. */
export class EmptyContent extends InvalidInput {}

/** The memory's status does not allow this change. */
export class IllegalTransition extends InvalidInput {}

/** The answer to a question is none of the answers, or contradicts itself; nothing was written. */
export class InvalidAnswer extends InvalidInput {}

/** A field has a value outside its range or its closed set. */
export class InvalidField extends InvalidInput {}

/** A plan file cannot be read, or was made for another store, namespace or schema. */
export class InvalidPlan extends ConfigError {}

/** A policy has a wrong key, value or kind. */
export class InvalidPolicy extends ConfigError {}

/** Consolidation rules have a wrong key or value. */
export class InvalidRules extends ConfigError {}

/** The text is not valid UTF-8, or contains NUL, control characters or lone surrogates. */
export class InvalidText extends InvalidInput {}

/** The store does not exist, and the operation creates none, because it only reads. */
export class NoStore extends StorePathError {}

/** A memory cannot be linked to or superseded by itself. */
export class SelfReference extends InvalidInput {}

/** The policy does not define this kind. */
export class UnknownKind extends InvalidInput {}

/** The question was answered before, in another way, or is no longer open; nothing was written. */
export class AlreadyAnswered extends IllegalTransition {}

export const KINDS: Record<string, typeof WellkeptError> = {
  WellkeptError,
  ConfigError,
  ConflictError,
  IdempotencyMismatch,
  ModelError,
  StorageError,
  UndoBlocked,
  AmbiguousId,
  Busy,
  Corrupt,
  Elsewhere,
  EmbedderMismatch,
  FrameworkUnavailable,
  Full,
  InvalidInput,
  ModelResponseInvalid,
  ModelUnavailable,
  NotAStore,
  NotFound,
  NotPermitted,
  ReadOnly,
  SchemaTooNew,
  StorePathError,
  UnknownBackend,
  ContentTooLarge,
  CycleError,
  EmptyContent,
  IllegalTransition,
  InvalidAnswer,
  InvalidField,
  InvalidPlan,
  InvalidPolicy,
  InvalidRules,
  InvalidText,
  NoStore,
  SelfReference,
  UnknownKind,
  AlreadyAnswered,
};

/** The class of an answer that names none. */
export const BY_STATUS: Record<number, typeof WellkeptError> = {
  400: InvalidInput,
  401: ConfigError,
  403: ConfigError,
  404: NotFound,
  413: InvalidInput,
  422: InvalidInput,
  429: Busy,
  503: Busy,
};
