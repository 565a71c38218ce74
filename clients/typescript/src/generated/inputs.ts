// Made by generate.py from the OpenAPI document of the server; changes here are lost.

import type { Kind } from "./records.js";

/** A time: ISO 8601 (UTC without a zone), or a `Date`. */
export type Time = string | Date;

/** The rules of a plan. */
export interface ConfigFields {
  /** Rules in TOML; they override the defaults. */
  rules?: string | null;
  /** Include the rules of this schedule. */
  trigger?: "always" | "daily" | "weekly" | "on_similarity" | "on_contradiction" | null;
  /** Similarity from which the relation model is asked. */
  ask_at?: number;
  /** Similarity from which rules compare. */
  look_at?: number;
  /** Neighbours of each memory that are compared. */
  nearest?: number;
}

/** Expansion: related memories added to the hits along links. */
export interface ExpandFields {
  /** Relations to follow. */
  rels?: string[];
  depth?: number;
  /** At most this many. */
  cap?: number;
  /** Score assigned to them. */
  score?: number;
}

/** A filter of memories; fields that are not given do not restrict it. */
export interface FilterFields {
  /** Exact ids. */
  ids?: string[] | null;
  /** The beginning of an id. */
  id_prefix?: string;
  /** The end of an id. */
  id_end?: string;
  /** Hashes of texts that map to the memory. */
  hashes?: string[];
  /** Any of these kinds. */
  kinds?: string[];
  /** Any of these statuses. */
  statuses?: ("active" | "superseded" | "archived" | "erased" | "wording")[];
  /** This subject. */
  subject?: string | null;
  /** This attribute. */
  attribute?: string | null;
  /** Any of these tags. */
  tags?: string[];
  /** Episodes that have not ended. */
  ongoing?: boolean | null;
  /** Stored at or after this time. ISO 8601. */
  created_from?: Time | null;
  /** Stored while a check was unavailable. */
  unchecked?: boolean | null;
  /** Whether it has a vector. */
  embedded?: boolean | null;
  /** created_at and id of the last memory of the previous page. */
  after?: [string, string] | null;
  /** created_at and id of the first memory of the next page. */
  before?: [string, string] | null;
  /** Stored before this time. ISO 8601. */
  created_to?: Time | null;
  /** Minimum importance. */
  min_importance?: number | null;
  /** From any of these sources. */
  sources?: string[];
  /** All of these keys and values. */
  metadata?: Record<string, unknown>;
}

/** The memories that a plan covers. */
export interface ScopeFields {
  /** Any of these kinds. */
  kinds?: string[];
  /** Any of these tags. */
  tags?: string[];
  /** Stored at or after this time. ISO 8601. */
  created_from?: Time | null;
  /** Stored before this time. ISO 8601. */
  created_to?: Time | null;
  /** At most this many, the newest. */
  limit?: number | null;
}

/** Weights of the parts of a score. */
export interface WeightFields {
  cosine?: number;
  lexical?: number;
  recency?: number;
  importance?: number;
  polarity?: number;
  confidence?: number;
  activation?: number;
  /** Share of its recency that a memory loses per day. */
  decay_rate?: number;
  /** The time from which age is counted. */
  recency_basis?: "accessed" | "created" | "event";
}

/** Input of `answer`. */
export interface AnswerInput {
  /** A question's id; text is then its answer alone. */
  question?: string;
  /**
   * As in 'q17 replaces 1; q18 new'. Answers: new | repeats N[,N] | replaces [part of] N[,N] | outdated by N | adds
   * to N | keep both N | not worth keeping; 'repeats 2 and replaces 1'. New: about something else. Replaces: the
   * new text holds now and N does not. Adds to: both hold. Keep both: they contradict each other and both stand.
   */
  text: string;
  /** Who answers; what a person says is replaced is superseded. */
  by?: "person" | "agent" | "model";
}

/** Input of `check`. */
export interface CheckInput {
  /** The text to store: one self-contained statement. */
  content: string;
  /**
   * fact: current state, replaced by a newer value; preference: what someone wants, replaced likewise; lesson: what
   * was learned, refinements are kept too; decision: what was decided and why, every one is kept; note: anything
   * else. The policy may define more.
   */
  kind?: Kind;
  /** A short name. */
  title?: string;
  /** A short form. */
  summary?: string;
  /** What it is about; a newer fact about it replaces the older one. */
  subject?: string;
  /** Which property of the subject. */
  attribute?: string;
  /** Who wrote it. */
  agent?: string;
  /** Free labels. */
  tags?: string[];
  /** 0 to 1. */
  importance?: number;
  /** 0 to 1. */
  confidence?: number;
  /** -1 against, 0 neutral, 1 for. */
  polarity?: -1 | 0 | 1;
  /** When it happened or became true. ISO 8601. */
  event_time?: Time | null;
  /** When it stopped being true. ISO 8601. */
  event_end?: Time | null;
  /** Where it came from. */
  source?: string;
  /** Ids of its sources. */
  provenance?: string[];
  /** Further fields. */
  metadata?: Record<string, unknown>;
  /** Situation in which to recall it. */
  trigger?: string;
  /** Circumstances at creation. */
  signals?: Record<string, unknown>;
  /** Exempt from decay. */
  pinned?: boolean;
  /** When it expires. ISO 8601. */
  expires_at?: Time | null;
  /** When an episode ended. ISO 8601. */
  ended_at?: Time | null;
  /** How a conflict is handled; by default as the kind's policy says. */
  on_conflict?: "ignore" | "warn" | "supersede_sure" | "supersede" | "raise" | null;
  /** Ids to link to. */
  links?: string[];
  /** Captured automatically: apply the chatter filter. */
  automatic?: boolean;
  /** The conversation frame it came from. */
  frame?: string;
  /** Store it even if it looks like chatter, with full importance. */
  keep?: boolean;
  /** A second write with the same key changes nothing. */
  idempotency_key?: string;
  /** When it was first recorded in another system. ISO 8601. */
  recorded_at?: Time | null;
}

/** Input of `checkSimilar`. */
export interface CheckSimilarInput {
  content: string;
  title: string;
  subtype: string;
  limit?: number;
}

/** Input of `conflicts`. */
export interface ConflictsInput {
  /** At most this many; more says whether others follow. */
  limit?: number;
  /** Its id, or the beginning or end of it. */
  memory_id?: string;
  /** Include resolved and expired conflicts. */
  settled?: boolean;
  /** Minimum similarity, 0 to 1. */
  threshold?: number;
  /** Key of the last conflict of the previous page. */
  after?: string;
}

/** Input of `createNode`. */
export interface CreateNodeInput {
  type?: string;
  subtype?: "custom:curiosity" | "custom:decision" | "custom:episode" | "custom:episodic" | "custom:fact" | "custom:feedback" | "custom:knowledge" | "custom:lesson" | "custom:note" | "custom:preference" | "custom:procedural" | "custom:semantic" | "custom:session_summary" | "custom:signal" | "custom:summary" | "custom:temp_note" | "custom:thesis" | "custom:trade" | "custom:trade_close" | "custom:trade_entry" | "custom:trade_modify" | "custom:turn_summary" | "custom:watchpoint";
  content_title?: string;
  content_body: string;
  content_summary?: string | null;
  event_time?: string | null;
}

/** Input of `deleteNode`. */
export interface DeleteNodeInput {
  node_id: string;
}

/** Input of `endEpisode`. */
export interface EndEpisodeInput {
  /** Its id, or the beginning or end of it. */
  episode_id: string;
  /** Its result, in short. */
  summary?: string;
  /** How well it went. */
  outcome?: string;
  /** When it ended; now by default. ISO 8601. */
  at?: Time | null;
}

/** Input of `erase`. */
export interface EraseInput {
  /** Its id, or the beginning or end of it. */
  memory_id: string;
}

/** Input of `execute`. */
export interface ExecuteInput {
  /** The plan as returned by plan, unchanged. */
  plan: { format: "wellkept.plan"; schema: 2; plan_id: string; config_hash: string; snapshot: string; namespace: string; actions: (Record<string, unknown>)[] };
  /** Ids or types of actions to apply. */
  only?: string[];
  /** Ids or types of actions to leave out. */
  skip?: string[];
  /** Dry run: report only. */
  dry_run?: boolean;
}

/** Input of `forget`. */
export interface ForgetInput {
  /** Its id, or the beginning or end of it. */
  memory_id: string;
}

/** Input of `get`. */
export interface GetInput {
  /** Its id, or the beginning or end of it. */
  memory_id: string;
  /** Record it as used. */
  touch?: boolean;
}

/** Input of `getNode`. */
export interface GetNodeInput {
  node_id: string;
}

/** Input of `history`. */
export interface HistoryInput {
  /** At most this many; more says whether others follow. */
  limit?: number;
  /** Its id, or the beginning or end of it. */
  memory_id: string;
  /** Only states of entries with a higher number. */
  after?: number;
}

/** Input of `import`. */
export interface ImportInput {
  /** Name of the source. */
  source?: string;
  /** JSON lines. */
  body: string;
}

/** Input of `journal`. */
export interface JournalInput {
  /** At most this many; more says whether others follow. */
  limit?: number;
  /** Only this many, the newest. */
  newest?: number;
  /** Only entries with a higher number. */
  after?: number;
}

/** Input of `judge`. */
export interface JudgeInput {
  /** Number of the entry. */
  entry: number;
  /** right: the decision fits. wrong: it does not. unsure: nobody can say. */
  verdict: "right" | "wrong" | "unsure";
}

/** Input of `link`. */
export interface LinkInput {
  /** Id the link starts from. */
  src: string;
  /** Id it leads to. */
  dst: string;
  /** Such as related, refines, example_of, derived_from. */
  rel?: string;
  /** Refuse ids that do not exist. */
  strict?: boolean;
}

/** Input of `list`. */
export interface ListInput {
  /** Only matching memories; active ones by default. */
  where?: FilterFields;
  /** At most this many; more says whether others follow. */
  limit?: number;
}

/** Input of `listNodes`. */
export interface ListNodesInput {
  /** Only nodes of this subtype */
  subtype?: string | null;
  /** Only nodes in this lifecycle state */
  lifecycle?: "ACTIVE" | "WEAK" | "DORMANT" | null;
  limit?: number;
  /** Only nodes older than the one of this id */
  before?: string | null;
}

/** Input of `neighbors`. */
export interface NeighborsInput {
  /** At most this many; more says whether others follow. */
  limit?: number;
  /** Its id, or the beginning or end of it. */
  memory_id: string;
  /** Only links of this relation. */
  rel?: string;
  /** Follow links out, in, or both. */
  direction?: "out" | "in" | "both";
  /** Steps. */
  depth?: number;
  /** Id of the last memory of the previous page. */
  after?: string;
}

/** Input of `pack`. */
export interface PackInput {
  /** What you want to know, in any words. */
  query: string;
  /** Maximum size of the block, in tokens. */
  budget_tokens?: number;
  /** Format of the block; decisions lists decisions alone. */
  format?: "markdown" | "json" | "decisions";
  /** What the prompt already contains: ids, or verbatim texts. */
  exclude?: string[];
  /** Id of the conversation; its packed texts are recognised when they are written back. */
  session?: string;
  /** Only memories that match this filter. */
  where?: FilterFields | null;
  /** Record the memories in the block as used. */
  touch?: boolean;
  /** Leave out memories whose relevance is below this; 0 for none, by default 0.3. */
  min_score?: number | null;
}

/** Input of `plan`. */
export interface PlanInput {
  /** Rules and thresholds. */
  config?: ConfigFields | null;
  /** Which memories; all active ones by default. */
  scope?: ScopeFields | null;
}

/** Input of `questions`. */
export interface QuestionsInput {
  /** At most this many; more says whether others follow. */
  limit?: number;
}

/** Input of `queueDrop`. */
export interface QueueDropInput {
  /** Its id in the queue. */
  queued_id: string;
}

/** Input of `queueFlush`. */
export interface QueueFlushInput {
  /** Also retry writes that failed too often to be retried automatically. */
  again?: boolean;
}

/** Input of `queuePending`. */
export interface QueuePendingInput {
  /** At most this many; more says whether others follow. */
  limit?: number;
  /** Id of the last queued write of the previous page. */
  after?: string;
}

/** Input of `queueRemember`. */
export interface QueueRememberInput {
  /** The text to store: one self-contained statement. */
  content: string;
  /**
   * fact: current state, replaced by a newer value; preference: what someone wants, replaced likewise; lesson: what
   * was learned, refinements are kept too; decision: what was decided and why, every one is kept; note: anything
   * else. The policy may define more.
   */
  kind?: Kind;
  /** A short name. */
  title?: string;
  /** A short form. */
  summary?: string;
  /** What it is about; a newer fact about it replaces the older one. */
  subject?: string;
  /** Which property of the subject. */
  attribute?: string;
  /** Who wrote it. */
  agent?: string;
  /** Free labels. */
  tags?: string[];
  /** 0 to 1. */
  importance?: number;
  /** 0 to 1. */
  confidence?: number;
  /** -1 against, 0 neutral, 1 for. */
  polarity?: -1 | 0 | 1;
  /** When it happened or became true. ISO 8601. */
  event_time?: Time | null;
  /** When it stopped being true. ISO 8601. */
  event_end?: Time | null;
  /** Where it came from. */
  source?: string;
  /** Ids of its sources. */
  provenance?: string[];
  /** Further fields. */
  metadata?: Record<string, unknown>;
  /** Situation in which to recall it. */
  trigger?: string;
  /** Circumstances at creation. */
  signals?: Record<string, unknown>;
  /** Exempt from decay. */
  pinned?: boolean;
  /** When it expires. ISO 8601. */
  expires_at?: Time | null;
  /** When an episode ended. ISO 8601. */
  ended_at?: Time | null;
  /** How a conflict is handled; by default as the kind's policy says. */
  on_conflict?: "ignore" | "warn" | "supersede_sure" | "supersede" | "raise" | null;
  /** Ids to link to. */
  links?: string[];
  /** Captured automatically: apply the chatter filter. */
  automatic?: boolean;
  /** The conversation frame it came from. */
  frame?: string;
  /** Store it even if it looks like chatter, with full importance. */
  keep?: boolean;
  /** A second write with the same key changes nothing. */
  idempotency_key?: string;
  /** When it was first recorded in another system. ISO 8601. */
  recorded_at?: Time | null;
}

/** Input of `recall`. */
export interface RecallInput {
  /** What you want to know, in any words. */
  query: string;
  /** At most this many hits. */
  limit?: number;
  /** Only memories that match this filter. */
  where?: FilterFields | null;
  /** Meaning and words, meaning alone, or age and importance too. */
  mode?: "default" | "semantic" | "hybrid";
  /** Include superseded memories. */
  include_superseded?: boolean;
  /** Return the parts of each score, and what was left out. */
  explain?: boolean;
  /** Record the hits as used. */
  touch?: boolean;
  /** Score weights of mode hybrid. */
  weights?: WeightFields | "default" | "hybrid" | "hybrid-created" | "hybrid-event" | null;
  /** Candidates scored per hit. */
  overfetch?: number;
  /** Add memories along links behind the hits. */
  expand?: ExpandFields | null;
  /** Answer from the store's state at this time. ISO 8601. */
  as_of?: Time | null;
  /** Only what was valid in the world at this time. ISO 8601. */
  valid_at?: Time | null;
  /** Group duplicates under the newest one; on by default in mode default. */
  grouped?: boolean | null;
  /** Reorder the best hits with the store's reranker, if it has one. */
  rerank?: boolean;
  /** Leave out memories whose relevance is below this; 0 for none, by default 0.3. */
  min_score?: number | null;
}

/** Input of `recordDecision`. */
export interface RecordDecisionInput {
  /** The decision and its reasons. */
  content: string;
  /** Its outcome, if known. */
  outcome?: string;
  /** A short name. */
  title?: string;
  /** A short form. */
  summary?: string;
  /** What it is about; a newer fact about it replaces the older one. */
  subject?: string;
  /** Which property of the subject. */
  attribute?: string;
  /** Who wrote it. */
  agent?: string;
  /** Free labels. */
  tags?: string[];
  /** 0 to 1. */
  importance?: number;
  /** 0 to 1. */
  confidence?: number;
  /** -1 against, 0 neutral, 1 for. */
  polarity?: -1 | 0 | 1;
  /** When it happened or became true. ISO 8601. */
  event_time?: Time | null;
  /** When it stopped being true. ISO 8601. */
  event_end?: Time | null;
  /** Where it came from. */
  source?: string;
  /** Ids of its sources. */
  provenance?: string[];
  /** Further fields. */
  metadata?: Record<string, unknown>;
  /** Situation in which to recall it. */
  trigger?: string;
  /** Circumstances at creation. */
  signals?: Record<string, unknown>;
  /** Exempt from decay. */
  pinned?: boolean;
  /** When it expires. ISO 8601. */
  expires_at?: Time | null;
  /** When an episode ended. ISO 8601. */
  ended_at?: Time | null;
  /** Ids to link to. */
  links?: string[];
  /** The conversation frame it came from. */
  frame?: string;
  /** Store it even if it looks like chatter, with full importance. */
  keep?: boolean;
  /** A second write with the same key changes nothing. */
  idempotency_key?: string;
  /** When it was first recorded in another system. ISO 8601. */
  recorded_at?: Time | null;
}

/** Input of `recordTurn`. */
export interface RecordTurnInput {
  /** The agent's answer. */
  response: string;
  /** Frame of the turn: task, decision …; conversation, question and creative contain no decisions. */
  frame: string;
  /** Whether record_decision was called in this turn. */
  decided?: boolean;
  /** Id of the episode that the turn belongs to. */
  episode?: string;
  /** A short name. */
  title?: string;
  /** A short form. */
  summary?: string;
  /** What it is about; a newer fact about it replaces the older one. */
  subject?: string;
  /** Which property of the subject. */
  attribute?: string;
  /** Who wrote it. */
  agent?: string;
  /** Free labels. */
  tags?: string[];
  /** 0 to 1. */
  importance?: number;
  /** 0 to 1. */
  confidence?: number;
  /** -1 against, 0 neutral, 1 for. */
  polarity?: -1 | 0 | 1;
  /** When it happened or became true. ISO 8601. */
  event_time?: Time | null;
  /** When it stopped being true. ISO 8601. */
  event_end?: Time | null;
  /** Where it came from. */
  source?: string;
  /** Ids of its sources. */
  provenance?: string[];
  /** Further fields. */
  metadata?: Record<string, unknown>;
  /** Situation in which to recall it. */
  trigger?: string;
  /** Circumstances at creation. */
  signals?: Record<string, unknown>;
  /** Exempt from decay. */
  pinned?: boolean;
  /** When it expires. ISO 8601. */
  expires_at?: Time | null;
  /** When an episode ended. ISO 8601. */
  ended_at?: Time | null;
  /** Ids to link to. */
  links?: string[];
  /** Store it even if it looks like chatter, with full importance. */
  keep?: boolean;
  /** A second write with the same key changes nothing. */
  idempotency_key?: string;
  /** When it was first recorded in another system. ISO 8601. */
  recorded_at?: Time | null;
}

/** Input of `remember`. */
export interface RememberInput {
  /** The text to store: one self-contained statement. */
  content: string;
  /**
   * fact: current state, replaced by a newer value; preference: what someone wants, replaced likewise; lesson: what
   * was learned, refinements are kept too; decision: what was decided and why, every one is kept; note: anything
   * else. The policy may define more.
   */
  kind?: Kind;
  /** A short name. */
  title?: string;
  /** A short form. */
  summary?: string;
  /** What it is about; a newer fact about it replaces the older one. */
  subject?: string;
  /** Which property of the subject. */
  attribute?: string;
  /** Who wrote it. */
  agent?: string;
  /** Free labels. */
  tags?: string[];
  /** 0 to 1. */
  importance?: number;
  /** 0 to 1. */
  confidence?: number;
  /** -1 against, 0 neutral, 1 for. */
  polarity?: -1 | 0 | 1;
  /** When it happened or became true. ISO 8601. */
  event_time?: Time | null;
  /** When it stopped being true. ISO 8601. */
  event_end?: Time | null;
  /** Where it came from. */
  source?: string;
  /** Ids of its sources. */
  provenance?: string[];
  /** Further fields. */
  metadata?: Record<string, unknown>;
  /** Situation in which to recall it. */
  trigger?: string;
  /** Circumstances at creation. */
  signals?: Record<string, unknown>;
  /** Exempt from decay. */
  pinned?: boolean;
  /** When it expires. ISO 8601. */
  expires_at?: Time | null;
  /** When an episode ended. ISO 8601. */
  ended_at?: Time | null;
  /** How a conflict is handled; by default as the kind's policy says. */
  on_conflict?: "ignore" | "warn" | "supersede_sure" | "supersede" | "raise" | null;
  /** Ids to link to. */
  links?: string[];
  /** Captured automatically: apply the chatter filter. */
  automatic?: boolean;
  /** The conversation frame it came from. */
  frame?: string;
  /** Store it even if it looks like chatter, with full importance. */
  keep?: boolean;
  /** A second write with the same key changes nothing. */
  idempotency_key?: string;
  /** When it was first recorded in another system. ISO 8601. */
  recorded_at?: Time | null;
}

/** Input of `rememberMany`. */
export interface RememberManyInput {
  /** Texts, or objects with content and more fields of remember. An invalid one does not stop the rest. */
  items: (string | Record<string, unknown>)[];
  /** How a conflict is handled; by default as the kind's policy says. */
  on_conflict?: "ignore" | "warn" | "supersede_sure" | "supersede" | "raise" | null;
}

/** Input of `resolve`. */
export interface ResolveInput {
  /** The key of the conflict. */
  key: string;
  /**
   * keep_new or keep_old: supersede the other one; keep_both: link them; merge: add the newer text to the older;
   * dismissed: not a conflict.
   */
  resolution: "keep_old" | "keep_new" | "keep_both" | "merge" | "dismissed";
}

/** Input of `restore`. */
export interface RestoreInput {
  /** Its id, or the beginning or end of it. */
  memory_id: string;
}

/** Input of `revise`. */
export interface ReviseInput {
  /** Its id, or the beginning or end of it. */
  memory_id: string;
  /** The text to store: one self-contained statement. */
  content?: string;
  /**
   * fact: current state, replaced by a newer value; preference: what someone wants, replaced likewise; lesson: what
   * was learned, refinements are kept too; decision: what was decided and why, every one is kept; note: anything
   * else. The policy may define more.
   */
  kind?: Kind;
  /** A short name. */
  title?: string;
  /** A short form. */
  summary?: string;
  /** What it is about; a newer fact about it replaces the older one. */
  subject?: string;
  /** Which property of the subject. */
  attribute?: string;
  /** Who wrote it. */
  agent?: string;
  /** Free labels. */
  tags?: string[];
  /** 0 to 1. */
  importance?: number;
  /** 0 to 1. */
  confidence?: number;
  /** -1 against, 0 neutral, 1 for. */
  polarity?: -1 | 0 | 1;
  /** When it happened or became true. ISO 8601. */
  event_time?: Time | null;
  /** When it stopped being true. ISO 8601. */
  event_end?: Time | null;
  /** Where it came from. */
  source?: string;
  /** Ids of its sources. */
  provenance?: string[];
  /** Further fields. */
  metadata?: Record<string, unknown>;
  /** Situation in which to recall it. */
  trigger?: string;
  /** Circumstances at creation. */
  signals?: Record<string, unknown>;
  /** Exempt from decay. */
  pinned?: boolean;
  /** When it expires. ISO 8601. */
  expires_at?: Time | null;
  /** When an episode ended. ISO 8601. */
  ended_at?: Time | null;
}

/** Input of `runs`. */
export interface RunsInput {
  /** At most this many; more says whether others follow. */
  limit?: number;
  /** Id of the last run of the previous page. */
  after?: string;
}

/** Input of `searchNodes`. */
export interface SearchNodesInput {
  query: string;
  limit?: number;
}

/** Input of `split`. */
export interface SplitInput {
  /** Its id, or the beginning or end of it. */
  memory_id: string;
}

/** Input of `startEpisode`. */
export interface StartEpisodeInput {
  /** What the episode is about. */
  content: string;
  /** A short name. */
  title?: string;
  /** A short form. */
  summary?: string;
  /** What it is about; a newer fact about it replaces the older one. */
  subject?: string;
  /** Which property of the subject. */
  attribute?: string;
  /** Who wrote it. */
  agent?: string;
  /** Free labels. */
  tags?: string[];
  /** 0 to 1. */
  importance?: number;
  /** 0 to 1. */
  confidence?: number;
  /** -1 against, 0 neutral, 1 for. */
  polarity?: -1 | 0 | 1;
  /** When it happened or became true. ISO 8601. */
  event_time?: Time | null;
  /** When it stopped being true. ISO 8601. */
  event_end?: Time | null;
  /** Where it came from. */
  source?: string;
  /** Ids of its sources. */
  provenance?: string[];
  /** Further fields. */
  metadata?: Record<string, unknown>;
  /** Situation in which to recall it. */
  trigger?: string;
  /** Circumstances at creation. */
  signals?: Record<string, unknown>;
  /** Exempt from decay. */
  pinned?: boolean;
  /** When it expires. ISO 8601. */
  expires_at?: Time | null;
  /** Ids to link to. */
  links?: string[];
  /** Captured automatically: apply the chatter filter. */
  automatic?: boolean;
  /** The conversation frame it came from. */
  frame?: string;
  /** Store it even if it looks like chatter, with full importance. */
  keep?: boolean;
  /** A second write with the same key changes nothing. */
  idempotency_key?: string;
  /** When it was first recorded in another system. ISO 8601. */
  recorded_at?: Time | null;
}

/** Input of `subgraph`. */
export interface SubgraphInput {
  /** Ids of the memories to start from. */
  ids: string[];
  /** Steps. */
  depth?: number;
}

/** Input of `supersede`. */
export interface SupersedeInput {
  /** Id of the memory that no longer holds. */
  old_id: string;
  /** Id of the memory that replaces it. */
  new_id: string;
}

/** Input of `undo`. */
export interface UndoInput {
  /** Number of the entry. */
  entry: number;
}

/** Input of `undoAnswers`. */
export interface UndoAnswersInput {
  /** Only answers from this time on. ISO 8601. */
  since?: Time | null;
  /** Only answers of a person, an agent or a model. */
  by?: "person" | "agent" | "model" | null;
}

/** Input of `undoRun`. */
export interface UndoRunInput {
  /** Its id, or `last`. */
  run_id: string;
  /** Skip what later changes depend on, undo the rest. */
  force_except?: boolean;
}

/** Input of `unlink`. */
export interface UnlinkInput {
  /** Id the links start from. */
  src: string;
  /** Id they lead to. */
  dst: string;
  /** Only this relation. */
  rel?: string;
}

/** Input of `updateNode`. */
export interface UpdateNodeInput {
  node_id: string;
  subtype?: "custom:curiosity" | "custom:decision" | "custom:episode" | "custom:episodic" | "custom:fact" | "custom:feedback" | "custom:knowledge" | "custom:lesson" | "custom:note" | "custom:preference" | "custom:procedural" | "custom:semantic" | "custom:session_summary" | "custom:signal" | "custom:summary" | "custom:temp_note" | "custom:thesis" | "custom:trade" | "custom:trade_close" | "custom:trade_entry" | "custom:trade_modify" | "custom:turn_summary" | "custom:watchpoint" | null;
  content_title?: string | null;
  content_body?: string | null;
  content_summary?: string | null;
  state_lifecycle?: "ACTIVE" | null;
}
