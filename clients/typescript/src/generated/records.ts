// Made by generate.py from the OpenAPI document of the server; changes here are lost.

/** A kind of memory: one of the default policy, or another that the server's policy knows. */
export type Kind =
  | "curiosity"
  | "decision"
  | "episode"
  | "episodic"
  | "fact"
  | "feedback"
  | "knowledge"
  | "lesson"
  | "note"
  | "preference"
  | "procedural"
  | "semantic"
  | "session_summary"
  | "signal"
  | "summary"
  | "temp_note"
  | "thesis"
  | "trade"
  | "trade_close"
  | "trade_entry"
  | "trade_modify"
  | "turn_summary"
  | "watchpoint"
  | (string & {});

/** The result of one action: executed, already done, stale, left out or failed, with the reason. */
export interface ActionResult {
  action_id: string;
  type: "merge" | "fold" | "summarize" | "promote" | "archive" | "flag_contradiction" | "mark" | "noop";
  state: "executed" | "done" | "stale" | "left_out" | "failed";
  why: string;
  entry: number;
}

/** A content hash starts or stops pointing at a memory. Merged memories keep all their hashes. */
export interface AliasChange {
  type: "alias";
  memory_id: string;
  hash: string;
  present: boolean;
}

/** The process is alive. */
export interface Alive {
  status?: "ok";
}

/** What each answer has done; of several, those that changed nothing, with the reason. */
export interface AllAnswered {
  answered: Answered[];
  errors: AnswerError[];
}

/** An answer that changed nothing: the question, the kind of error, and the reason. */
export interface AnswerError {
  question: string;
  error: string;
  message: string;
}

/** The result of an answer. */
export interface Answered {
  /** Id of the question. */
  question: string;
  /** The answer in its standard form. */
  answer: string;
  /** Who answered. */
  by: "person" | "agent" | "model";
  /** The memory in question, as it is now. */
  memory: Memory;
  /** Number of the journal entry, for `undo`; 0 when the same answer was known already. */
  entry: number;
  /** What was done, in one sentence. */
  message: string;
}

/** The open questions, the most valuable first. If more is true, others follow. */
export interface Asked {
  questions: Question[];
  more: boolean;
}

/** How a namespace asks, and how often its automatic acts were wrong. */
export interface AskingReport {
  /** Number of open questions. */
  open: number;
  /** Automatic acts that were checked by an answer, by act. */
  checked: Record<string, number>;
  /** Of these, the wrong ones. */
  wrong: Record<string, number>;
  /** How much the least probability of each act has moved here; above 0 is stricter. */
  shifts: Record<string, number>;
}

/** The number of vectors computed. */
export interface Backfilled {
  embedded: number;
  left: number;
}

/** The results of a batch in the order of its items; None for an item that failed. */
export interface BatchResult {
  results: (WriteResult | null)[];
  errors: ItemError[];
  counts: Record<string, number>;
}

/** What the gate thinks of one candidate of a new text. */
export interface Chance {
  /** The candidate. */
  memory_id: string;
  /** Probability that the new text says the same, 0 to 1, 4 decimals. */
  repeats: number;
  /** Probability that the new text replaces it. */
  replaces: number;
  /** Its number in a question; candidates that say the same have one number, 0 outside a question. */
  number: number;
}

/** A memory before the undo and now; None when it does not exist. */
export interface Change {
  memory_id: string;
  before: Memory | null;
  after: Memory | null;
}

/** Two memories that contradict each other (contradiction), say the same (duplicate), or of which */
export interface Conflict {
  /** Computed from the pair and the kind, so that the same pair is never flagged twice. */
  key: string;
  /** Id of the older memory. */
  a: string;
  /** Id of the newer memory. */
  b: string;
  kind: "contradiction" | "duplicate" | "outdated";
  /**
   * `polarity`, `negation_diff`, `value_diff`, `custom_fn`, `model` (found by the relation model alone: a possible
   * conflict) or `repeat`.
   */
  reason: string;
  similarity: number | null;
  differences: Difference[];
  excerpt_a: string;
  excerpt_b: string;
  created_at: string;
  /** When an open conflict is treated as resolved by keeping both. */
  expires_at: string | null;
  /** How the conflict was resolved; None while it is open. */
  resolution: "keep_old" | "keep_new" | "keep_both" | "merge" | "dismissed" | null;
  resolved_at: string | null;
  /** That the newer replaces the older, for a mark. */
  probability: number | null;
}

/** A conflict row is inserted, changed or deleted. */
export interface ConflictChange {
  type: "conflict";
  before: Conflict | null;
  after: Conflict | null;
}

/** Conflicts, oldest first. If more is true, others follow. */
export interface Conflicts {
  conflicts: Conflict[];
  more: boolean;
}

/** A node that is hidden and can be restored. */
export interface Deleted {
  id: string;
  deleted: boolean;
}

/** What detection found, before any rule is applied. */
export interface Detected {
  memories: number;
  exact_groups: number;
  pairs: number;
  clusters: number;
  contradiction_pairs: number;
  asked: number;
}

/** One named difference between two texts, with the words that show it. */
export interface Difference {
  /** What differs. */
  kind: "negation" | "polarity" | "number" | "unit" | "sign" | "version" | "identifier" | "date" | "time" | "order" | "scope" | "name" | "value" | "antonym" | "condition" | "detail" | "subject" | "event_time" | "length" | "meaning" | "custom";
  /** The words of the older text; may be empty. */
  old: string;
  /** The words of the newer text; may be empty. */
  new: string;
  /** True when the two texts cannot both hold (a conflict); False when they are only not duplicates. */
  decisive: boolean;
  /**
   * True when one value was replaced by another in the same statement. Only then may the newer text supersede the
   * older one automatically (preset `fact`).
   */
  sure: boolean;
}

/** A link in the vocabulary of the host system; `related` is `relates_to` there. */
export interface Edge {
  source_id: string;
  target_id: string;
  type: string;
}

/** Entries of the journal, oldest first. If more is true, others follow. */
export interface Entries {
  entries: JournalEntry[];
  more: boolean;
}

/** The journal entry; 0 when nothing changed. */
export interface Entry {
  entry: number;
}

/** The result of flushing the queue, in the order of the calls. */
export interface Flushed {
  /** The write result of each entry written. */
  results: WriteResult[];
  /** Entries that could not be written; they stay in the queue for the next attempt. */
  failed: QueuedWrite[];
}

/** Whether it was done. */
export interface Forgotten {
  forgotten: boolean;
}

/** A node found by a query. */
export interface FoundNode {
  id: string;
  type: string;
  subtype: string;
  content_title: string | null;
  content_body: string;
  content_summary: string | null;
  state_lifecycle: "ACTIVE" | "WEAK" | "DORMANT";
  embedding_model: string | null;
  provenance_created_at: string;
  event_time: string | null;
  status: string;
  superseded_by: string | null;
  score: number;
}

/** The nodes found by a query, best first. */
export interface FoundNodes {
  data: FoundNode[];
  /** Whether further ones were left out of a large answer. */
  more?: boolean;
}

/** A neighbourhood: memories by id, links between them, and linked ids without a memory. */
export interface Graph {
  nodes: Record<string, Memory>;
  edges: ([string, string, string])[];
  dangling: string[];
}

/** Hits that say the same. */
export interface Group {
  /** The newest hit. */
  shown: Hit;
  /** The other hits, newest first. */
  repeats: Hit[];
  /** The best score in the group; the group has the rank of its best hit. */
  score: number;
  /** The open conflicts of all hits. */
  conflicts: Conflict[];
  /** In a pack, the memories that the shown one probably replaces and that are printed beneath it. */
  before: Hit[];
}

/** One result of `recall`. */
export interface Hit {
  /** The memory. */
  memory: Memory;
  /** The rank score, higher is better. */
  score: number;
  /** The parts of the score by name; with `explain` also those that did not count. */
  parts: Record<string, number>;
  /** Open conflicts of this memory. */
  conflicts: Conflict[];
  /** Components that failed; after an embedder outage the score uses words alone. */
  degraded: ("calibration" | "embedding" | "judge" | "judging" | "language" | "lexical" | "relation" | "reranker" | "unreadable")[];
  /** Rank in the result, from 1. */
  rank: number;
  /**
   * Rank by the score alone, before the newer of two contradicting memories was put first; 0 for a memory added
   * over a link.
   */
  scored_rank: number;
  /** The weight of each part, by name; weights of missing parts are shared among the others. */
  weights: Record<string, number>;
  /** The link it was added over; None for a memory found by the query itself. */
  via: Link | null;
  /**
   * Other hits that say the same, newest first. The hit takes the rank of the best of them and keeps its own score.
   */
  repeats: Memory[];
  /** The wording that fits the query better than its own text, if any. */
  wording: Memory | null;
  /** Why it precedes a hit that fits the query better; None where the score alone gave the place. */
  moved: Move | null;
  /**
   * With `explain`, the id of the most valuable open question about this memory, as the memory in question or as a
   * candidate; otherwise empty.
   */
  question: string;
}

/** An item of a batch that could not be written: index, beginning of the text, and reason. */
export interface ItemError {
  index: number;
  excerpt: string;
  error: string;
  message: string;
}

/** One applied decision: what was done, by whom, under which policy, why, and how to undo it. */
export interface JournalEntry {
  /** Position in the namespace's journal, from 1; 0 before it is applied. */
  seq: number;
  at: string;
  /** The call that made it (remember, supersede, resolve, undo, …). */
  verb: string;
  actor: string;
  /** Hash of the policy in force. */
  policy: string;
  outcome: string;
  /** The main memory. */
  memory_id: string;
  /** Every memory that was changed. */
  memory_ids: string[];
  reasons: Reason[];
  matches: Match[];
  conflict_keys: string[];
  degraded: ("calibration" | "embedding" | "judge" | "judging" | "language" | "lexical" | "relation" | "reranker" | "unreadable")[];
  /**
   * The applied effects. Read back from a store, each effect has its complete `before`; its `after` holds only what
   * later entries and the current rows do not contain.
   */
  effects: (MemoryChange | AliasChange | LinkChange | ConflictChange)[];
  /** A text that was not stored, as the memory it would have become. */
  dropped: Memory | null;
  /** The entry that this entry undid; 0 when it is not an undo. */
  undoes: number;
  /** The caller's key; `payload` is the hash of the call's arguments. */
  idempotency_key: string;
  payload: string;
  /** The import or run that the entry belongs to; else empty. */
  run_id: string;
  /** The question that the entry asks; None where nobody is asked. */
  asks: QuestionRecord | null;
  /** The entry whose question this entry answers; 0 when it is no answer. */
  answers: number;
  /** What the relation model said of all candidates; None where it was not asked. */
  reading: Reading | null;
}

/** A memory that was considered and is not in the result. */
export interface LeftOut {
  /** The memory. */
  memory: Memory;
  /** The reason, in words. */
  why: string;
  /** Its score, if one was computed. */
  score: number | null;
  /** The parts of the score that were computed. */
  parts: Record<string, number>;
}

/** A directed link with a relation; unique by (src, dst, rel). */
export interface Link {
  src: string;
  dst: string;
  rel: string;
  created_at: string | null;
}

/** A link is inserted or deleted. */
export interface LinkChange {
  type: "link";
  before: Link | null;
  after: Link | null;
}

/** A candidate after comparison: its relation to the new text and the action taken. */
export interface Match {
  memory_id: string;
  title: string;
  lifecycle: "ACTIVE" | "WEAK" | "DORMANT";
  stage: "content_hash" | "canonical_hash" | "subject" | "window" | "vector" | "key";
  relation: "same" | "refines" | "generalises" | "conflict" | "distinct" | "variant" | "none";
  action: "duplicate" | "restate" | "connect" | "evolve" | "supersede" | "outdate" | "conflict" | "reuse" | "none";
  similarity: number | null;
  cosine: number | null;
  differences: Difference[];
  opinion: Opinion | null;
}

/**
 * Memories, oldest first; open marks: the older memory (a) is probably outdated by the newer (b); the number of
 * wordings behind each head. If more is true, others follow.
 */
export interface Memories {
  memories: Memory[];
  marks: Conflict[];
  wordings: Record<string, number>;
  more: boolean;
}

/** A stored memory. */
export interface Memory {
  /** The text, 1 character to the policy's limit. */
  content: string;
  /**
   * The type of memory, which selects the policy for duplicates, updates and conflicts: `fact`, `note`,
   * `preference`, `lesson`, `decision`, or another that the policy knows.
   */
  kind: Kind;
  /** A short name; may be empty. */
  title: string;
  /** A short form given by the caller; may be empty. */
  summary: string;
  /** What the statement is about ("006", "Nous"); compared without case. */
  subject: string;
  /** Which property of the subject ("status"); subject and attribute form the slot. */
  attribute: string;
  /** The agent that wrote it, inside the namespace. */
  agent: string;
  /** Free labels. */
  tags: string[];
  /** 0 to 1. */
  importance: number;
  /** 0 to 1. */
  confidence: number;
  /** -1 against, 0 neutral, +1 for. */
  polarity: -1 | 0 | 1;
  /** When it was true in the world, if known; `event_end` closes a range. */
  event_time: string | null;
  event_end: string | null;
  /** Where it came from. */
  source: string;
  /** Ids of the memories it was made from. */
  provenance: string[];
  /** Any JSON value. */
  metadata: Record<string, unknown>;
  /** When the memory is relevant. */
  trigger: string;
  /** The state of the world at creation. */
  signals: Record<string, unknown>;
  /** Protected from decay and archiving. */
  pinned: boolean;
  /** When the memory stops being valid. */
  expires_at: string | null;
  /** When an episode ended; None while it is ongoing. */
  ended_at: string | null;
  /** A time-ordered UUIDv7. */
  id: string;
  /** The isolation boundary. */
  namespace: string;
  /** active, superseded, archived, erased, or wording. */
  status: "active" | "superseded" | "archived" | "erased" | "wording";
  /** Id of its successor, or of the head of a wording; else empty. */
  superseded_by: string;
  superseded_at: string | null;
  created_at: string;
  updated_at: string;
  /** 1 on creation, +1 with each change. */
  version: number;
  /** The dated additions still shown in `content`, oldest first, at most 10. */
  updates: Update[];
  /** How many texts were added in total. */
  evolution_count: number;
  /** How many duplicates of it were written. */
  confirmations: number;
  last_confirmed_at: string | null;
  /** False when it was stored while a check could not run. */
  checked: boolean;
  /** Hash of the embedded text; empty without a vector. */
  embedding: string;
  /** Number of embedder windows the text needed; 0 without a usable vector. */
  chunks: number;
  access_count: number;
  last_accessed_at: string | null;
  stability: number | null;
}

/** A memory row is inserted, changed or deleted. */
export interface MemoryChange {
  type: "memory";
  before: Memory | null;
  after: Memory | null;
}

/** Why a hit precedes one that fits the query better: it is the newer of the two. */
export interface Move {
  /** Id of the best hit that it was put before. */
  over: string;
  /**
   * It probably `outdates` the other (a mark), `contradicts` it (a conflict), `updates` it (by the relation model's
   * opinion for this query), `updates_part` of it (by an answer; the rest holds) or `replaces` it (the other is
   * superseded).
   */
  why: "outdates" | "contradicts" | "updates" | "updates_part" | "replaces";
  /** Of that, 0 to 1; None if no model gave one. */
  probability: number | null;
}

/** Memories reached over links, nearest first; linked ids that do not exist. If more is true, others follow. */
export interface Neighbors {
  neighbors: Neighbour[];
  dangling: string[];
  more: boolean;
}

/** A memory reached over a link, with the link's relation and direction. */
export interface Neighbour {
  memory: Memory;
  rel: string;
  direction: "out" | "in";
  depth: number;
}

/** A memory with the column names of the host system. */
export interface Node {
  id: string;
  type: string;
  subtype: string;
  content_title: string | null;
  content_body: string;
  content_summary: string | null;
  state_lifecycle: "ACTIVE" | "WEAK" | "DORMANT";
  embedding_model: string | null;
  provenance_created_at: string;
  event_time: string | null;
  status: string;
  superseded_by: string | null;
}

/** Several nodes. */
export interface Nodes {
  data: Node[];
  /** Whether others follow. */
  more?: boolean;
}

/** The relation model's result for a pair: a calibrated probability for each relation, 4 decimals. */
export interface Opinion {
  /** The new text says the same (duplicate or paraphrase). */
  same: number;
  /** The new text repeats the old one and adds detail. */
  refines: number;
  /** The new text says less than the old one. */
  generalises: number;
  /** The two texts cannot both be currently true. */
  conflict: number;
  /** Both hold and are about different things. */
  distinct: number;
  /** Version of the model. */
  model: string;
}

/** The current memories about a query, as text for a prompt. */
export interface Pack {
  /** The text block; empty when nothing was found or nothing fits the budget. */
  text: string;
  /** Tokens of the text, at most `budget_tokens`. */
  tokens: number;
  budget_tokens: number;
  format: "markdown" | "json" | "decisions";
  /** The groups in the text, best first. */
  groups: Group[];
  /** Ids of memories that answer the query but did not fit. */
  left_out: string[];
  /** Ids of memories that answer the query but are already in the prompt. */
  excluded: string[];
  session: string;
  /** Components that failed or were unavailable. */
  degraded: ("calibration" | "embedding" | "judge" | "judging" | "language" | "lexical" | "relation" | "reranker" | "unreadable")[];
}

/** A plan in the format of a plan file; in scope and actions, empty values and defaults are omitted. */
export interface PlanFile {
  format: string;
  schema: number;
  plan_id: string;
  config_hash: string;
  snapshot: string;
  namespace: string;
  scope: Record<string, unknown>;
  detected: Detected;
  /** Actions by type. */
  planned: Record<string, number>;
  degraded: string[];
  actions: (Record<string, unknown>)[];
}

/** A problem found by `verify`: where, what, and how to repair it. */
export interface Problem {
  where: string;
  what: string;
  todo: string;
}

/** Problems found; empty when there are none. */
export interface Problems {
  problems: Problem[];
}

/** A question about a stored memory: whether it is new, or repeats, replaces or extends an older one. */
export interface Question {
  /** `q` and the number of the journal entry that asks. */
  id: string;
  /** The memory in question. */
  memory: Memory;
  /** The numbered candidates, at most four, best first. */
  candidates: QuestionCandidate[];
  /** Expected gain of an answer. */
  worth: number;
  /** When it was asked. */
  asked_at: string;
  /** When it expires; the memory then stays as it is. */
  expires_at: string | null;
  /** The automatic act that it checks; empty for a write that was not decided. */
  audited: "fold" | "mark" | "";
}

/** A stored memory that the new one may repeat, replace or extend. */
export interface QuestionCandidate {
  /** Its number in answers, from 1. */
  number: number;
  /** The memory. */
  memory: Memory;
  /** What the gate thinks of it. */
  opinion: Chance;
  /** Other memories that say the same; they share its number. */
  also: Memory[];
}

/** The question that a journal entry asks; it holds no text. */
export interface QuestionRecord {
  /** The memory that the question is about. */
  memory_id: string;
  /** The candidates with their numbers, best first. */
  chances: Chance[];
  /** Expected gain of an answer; questions are asked and listed by it. */
  worth: number;
  /** From then on the memory stays as it was stored. */
  expires_at: string | null;
  /** The automatic act that the question checks; empty for a write that was not decided. */
  audited: "fold" | "mark" | "";
}

/** A write that waits in the queue. */
export interface QueuedWrite {
  /** Id of the queue entry; not the id of a memory. */
  id: string;
  /** The store it is for. */
  store: string;
  /** The namespace it will be written to. */
  namespace: string;
  /** The session it was made in; empty outside one. */
  session: string;
  /** The `deferred` block it was collected in; empty outside one. */
  lot: string;
  /** Who made the write, for the journal. */
  actor: string;
  /** When the write was queued. */
  at: string;
  /** The fields of the `NewMemory`, as JSON. */
  statement: Record<string, unknown>;
  /** The `on_conflict` of the call; None for the policy's. */
  on_conflict: "ignore" | "warn" | "supersede_sure" | "supersede" | "raise" | null;
  /** Number of failed attempts. */
  attempts: number;
  /** The error of the last attempt; empty when there was none. */
  error: string;
}

/** What the relation model said when it read a new text beside older ones, kept so that nobody asks it again. */
export interface Reading {
  /** Version of the model. */
  model: string;
  /** The memories that were read beside the new text. */
  memory_ids: string[];
  /** Digest of the new text and of the older texts; the opinions hold for these texts only. */
  texts: string;
  /** All opinions to the last digit, packed (`core/judging/kept_opinions.py`). */
  opinions: string;
}

/** One step of a decision: the rule that fired and its input. */
export interface Reason {
  rule: string;
  detail: string;
}

/**
 * Hits, best first; with explain also results left out; linked ids that do not exist. An answer that would be too
 * large is truncated, and more is true.
 */
export interface Recalled {
  hits: Hit[];
  left_out: LeftOut[];
  dangling: string[];
  more: boolean;
}

/** Number of links removed. */
export interface Removed {
  removed: number;
}

/** Whether anything changed. */
export interface Restored {
  restored: boolean;
}

/** What a run did, or would do in a dry run; under not_applied what was stale or failed. */
export interface Run {
  plan_id: string;
  run_id: string;
  mode: "dry_run" | "execute";
  forced: string;
  namespace: string;
  config_hash: string;
  scope: Record<string, unknown>;
  detected: Detected;
  degraded: string[];
  planned: Record<string, number>;
  executed: number;
  skipped: number;
  errors: number;
  counts: Record<string, Record<string, number>>;
  not_applied: ActionResult[];
  seconds: number;
}

/** One run, from its journal entries. A dry run has none; it is only in its report. */
export interface RunLine {
  run_id: string;
  /** The command that made it: `consolidate`, `import` … */
  verb: string;
  actor: string;
  started_at: string;
  ended_at: string;
  entries: number;
  /** Entries by outcome; for a consolidation its actions by type. */
  counts: Record<string, number>;
  /** Whether its changes were undone; `no` for a run without changes. */
  undone: "no" | "partly" | "yes";
}

/** Runs that changed the store, oldest first. If more is true, others follow. */
export interface Runs {
  runs: RunLine[];
  more: boolean;
}

/** The answer of `POST /v1/nodes/check-similar`. */
export interface Similar {
  matches: SimilarNode[];
  recommendation: "duplicate_found" | "similar_found" | "unique";
}

/** One similar stored memory. */
export interface SimilarNode {
  node_id: string;
  title: string;
  similarity: number;
  action: "duplicate" | "connect";
  lifecycle: "ACTIVE" | "WEAK" | "DORMANT";
}

/** Counts of one namespace. */
export interface Stats {
  namespace: string;
  memories: Record<string, number>;
  kinds: Record<string, number>;
  outcomes: Record<string, number>;
  links: number;
  open_conflicts: number;
  unchecked: number;
  without_vector: number;
  journal: number;
  embedder: string;
  policy: string;
  schema: number;
  /** The unchecked memories that wait to be judged (`judging = "later"`). */
  waiting: number;
}

/** A node after a write, with the outcome of the write. */
export interface Stored {
  id: string;
  type: string;
  subtype: string;
  content_title: string | null;
  content_body: string;
  content_summary: string | null;
  state_lifecycle: "ACTIVE" | "WEAK" | "DORMANT";
  embedding_model: string | null;
  provenance_created_at: string;
  event_time: string | null;
  status: string;
  superseded_by: string | null;
  outcome: string;
  message: string;
  edges: Edge[];
}

/** The result of undoing a run. */
export interface UndoReport {
  run_id: string;
  /** Journal entries undone, newest first. */
  undone: number[];
  /** Entries that were kept because later entries depend on them: the entry and the later ones. */
  blocked: Record<string, number[]>;
}

/** The entry of the undo, the entry it undid, and each memory before and after. */
export interface Undone {
  entry: number;
  undone: number;
  changes: Change[];
}

/** One dated addition to an evolved memory. */
export interface Update {
  at: string;
  text: string;
  similarity: number;
}

/** A memory as one journal entry left it; `memory` is None when the entry removed it. */
export interface Version {
  seq: number;
  at: string;
  verb: string;
  outcome: string;
  actor: string;
  reasons: Reason[];
  memory: Memory | null;
}

/** Every state of a memory, oldest first. If more is true, others follow. */
export interface Versions {
  versions: Version[];
  more: boolean;
}

/** Queued writes, oldest first. If more is true, others follow. */
export interface Waiting {
  pending: QueuedWrite[];
  more: boolean;
}

/** The result of one write. The same object is returned, journaled, shown and logged. */
export interface WriteResult {
  /** created, duplicate, evolved, superseded, reused, rejected or queued. */
  outcome: "created" | "duplicate" | "restated" | "evolved" | "superseded" | "reused" | "rejected" | "queued";
  /** The memory that holds the text now; None when the text was rejected or queued. */
  memory: Memory | null;
  /** Links that were made. */
  links: Link[];
  /** Conflicts that were found. */
  conflicts: Conflict[];
  /** Stored memories that were compared, most similar first. */
  matches: Match[];
  /** The rules that fired, in order. */
  reasons: Reason[];
  /** Components that failed or were unavailable. */
  degraded: ("calibration" | "embedding" | "judge" | "judging" | "language" | "lexical" | "relation" | "reranker" | "unreadable")[];
  /** One sentence for the agent. */
  message: string;
  /** Number of the journal entry, for `undo`; 0 for a check and for a call repeated under its idempotency key. */
  entry: number;
  /** Id for `restore` of a text that was not stored. */
  dropped: string;
  /** The question about the write; None where the gate decided, and for a check. */
  question: Question | null;
}
