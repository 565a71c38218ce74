// Made by generate.py from the OpenAPI document of the server; changes here are lost.

import type {
  AnswerInput,
  CheckInput,
  CheckSimilarInput,
  ConflictsInput,
  CreateNodeInput,
  DeleteNodeInput,
  EndEpisodeInput,
  EraseInput,
  ExecuteInput,
  ForgetInput,
  GetInput,
  GetNodeInput,
  HistoryInput,
  ImportInput,
  JournalInput,
  JudgeInput,
  LinkInput,
  ListInput,
  ListNodesInput,
  NeighborsInput,
  PackInput,
  PlanInput,
  QuestionsInput,
  QueueDropInput,
  QueueFlushInput,
  QueuePendingInput,
  QueueRememberInput,
  RecallInput,
  RecordDecisionInput,
  RecordTurnInput,
  RememberInput,
  RememberManyInput,
  ResolveInput,
  RestoreInput,
  ReviseInput,
  RunsInput,
  SearchNodesInput,
  SplitInput,
  StartEpisodeInput,
  SubgraphInput,
  SupersedeInput,
  UndoAnswersInput,
  UndoInput,
  UndoRunInput,
  UnlinkInput,
  UpdateNodeInput,
} from "./inputs.js";
import type {
  Alive,
  AllAnswered,
  Asked,
  AskingReport,
  Backfilled,
  BatchResult,
  Conflict,
  Conflicts,
  Deleted,
  Entries,
  Entry,
  Flushed,
  Forgotten,
  FoundNodes,
  Graph,
  Link,
  Memories,
  Memory,
  Neighbors,
  Node,
  Nodes,
  Pack,
  PlanFile,
  Problems,
  QueuedWrite,
  Recalled,
  Removed,
  Restored,
  Run,
  Runs,
  Similar,
  Stats,
  Stored,
  UndoReport,
  Undone,
  Versions,
  Waiting,
  WriteResult,
} from "./records.js";
import type { CallOptions, Operation } from "../calls.js";

export const OPERATIONS = {
  answer: { method: "POST", path: "/v1/answers", repeat: "always" },
  asking: { method: "GET", path: "/v1/asking", repeat: "always" },
  backfillEmbeddings: { method: "POST", path: "/v1/nodes/backfill-embeddings", repeat: "never" },
  check: { method: "POST", path: "/v1/check", repeat: "always" },
  checkSimilar: { method: "POST", path: "/v1/nodes/check-similar", repeat: "always" },
  conflicts: { method: "GET", path: "/v1/conflicts", repeat: "always" },
  createNode: { method: "POST", path: "/v1/nodes", repeat: "never" },
  deleteNode: { method: "DELETE", path: "/v1/nodes/{node_id}", repeat: "never" },
  endEpisode: { method: "POST", path: "/v1/episodes/{episode_id}/end", repeat: "always" },
  erase: { method: "DELETE", path: "/v1/memories/{memory_id}", repeat: "always" },
  execute: { method: "POST", path: "/v1/plans/execute", repeat: "always" },
  forget: { method: "POST", path: "/v1/memories/{memory_id}/forget", repeat: "never" },
  forgetLessons: { method: "DELETE", path: "/v1/asking/lessons", repeat: "never" },
  get: { method: "GET", path: "/v1/memories/{memory_id}", repeat: "always" },
  getNode: { method: "GET", path: "/v1/nodes/{node_id}", repeat: "always" },
  healthz: { method: "GET", path: "/healthz", repeat: "always" },
  history: { method: "GET", path: "/v1/history/{memory_id}", repeat: "always" },
  import: { method: "POST", path: "/v1/import", repeat: "never", media: "application/x-ndjson", text: true },
  journal: { method: "GET", path: "/v1/journal", repeat: "always" },
  judge: { method: "POST", path: "/v1/journal/{entry}/verdict", repeat: "never" },
  link: { method: "POST", path: "/v1/links", repeat: "always" },
  list: { method: "GET", path: "/v1/memories", repeat: "always" },
  listNodes: { method: "GET", path: "/v1/nodes", repeat: "always" },
  metrics: { method: "GET", path: "/metrics", repeat: "always", text: true },
  neighbors: { method: "GET", path: "/v1/links/{memory_id}", repeat: "always" },
  pack: { method: "POST", path: "/v1/pack", repeat: "always" },
  plan: { method: "POST", path: "/v1/plans", repeat: "always" },
  questions: { method: "GET", path: "/v1/questions", repeat: "always" },
  queueDrop: { method: "DELETE", path: "/v1/queue/{queued_id}", repeat: "never" },
  queueFlush: { method: "POST", path: "/v1/queue/flush", repeat: "always" },
  queuePending: { method: "GET", path: "/v1/queue", repeat: "always" },
  queueRemember: { method: "POST", path: "/v1/queue", repeat: "keyed" },
  readyz: { method: "GET", path: "/readyz", repeat: "always" },
  recall: { method: "POST", path: "/v1/recall", repeat: "always" },
  recordDecision: { method: "POST", path: "/v1/decisions", repeat: "keyed", mayWait: true },
  recordTurn: { method: "POST", path: "/v1/turns", repeat: "never", mayWait: true },
  remember: { method: "POST", path: "/v1/memories", repeat: "keyed", mayWait: true },
  rememberMany: { method: "POST", path: "/v1/memories/batch", repeat: "always", mayWait: true },
  resolve: { method: "POST", path: "/v1/conflicts/{key}/resolve", repeat: "never" },
  restore: { method: "POST", path: "/v1/memories/{memory_id}/restore", repeat: "never" },
  revise: { method: "PATCH", path: "/v1/memories/{memory_id}", repeat: "never" },
  runs: { method: "GET", path: "/v1/runs", repeat: "always" },
  searchNodes: { method: "POST", path: "/v1/search", repeat: "always" },
  split: { method: "POST", path: "/v1/memories/{memory_id}/split", repeat: "never" },
  startEpisode: { method: "POST", path: "/v1/episodes", repeat: "keyed" },
  stats: { method: "GET", path: "/v1/stats", repeat: "always" },
  subgraph: { method: "POST", path: "/v1/links/subgraph", repeat: "always" },
  supersede: { method: "POST", path: "/v1/memories/{old_id}/supersede", repeat: "never" },
  undo: { method: "POST", path: "/v1/undo", repeat: "never" },
  undoAnswers: { method: "POST", path: "/v1/answers/undo", repeat: "never" },
  undoRun: { method: "POST", path: "/v1/runs/{run_id}/undo", repeat: "never" },
  unlink: { method: "DELETE", path: "/v1/links", repeat: "never" },
  updateNode: { method: "PATCH", path: "/v1/nodes/{node_id}", repeat: "never" },
  verify: { method: "GET", path: "/v1/verify", repeat: "always" },
} as const satisfies Record<string, Operation>;

/** One method for each operation of the server. */
export abstract class Operations {
  protected abstract send<T>(operation: Operation, input: object, options?: CallOptions): Promise<T>;

  /**
   * Answer questions. Answer questions, many in one call. If you do not know, leave them open: nothing waits. The
   * first answer counts.
   */
  answer(input: AnswerInput, options?: CallOptions): Promise<AllAnswered> {
    return this.send(OPERATIONS.answer, input, options);
  }

  /**
   * How the store asks. Number of open questions; how many automatic acts answers have checked, how many of them
   * were wrong, and how much stricter the bounds have become.
   */
  asking(options?: CallOptions): Promise<AskingReport> {
    return this.send(OPERATIONS.asking, {}, options);
  }

  /** Backfill. Computes missing vectors, in batches. */
  backfillEmbeddings(options?: CallOptions): Promise<Backfilled> {
    return this.send(OPERATIONS.backfillEmbeddings, {}, options);
  }

  /** Check before remembering. Preview what remember would do with a statement, and why. Writes nothing. */
  check(input: CheckInput, options?: CallOptions): Promise<WriteResult> {
    return this.send(OPERATIONS.check, input, options);
  }

  /** Check. Memories of the same subtype that are similar to a text not yet stored. */
  checkSimilar(input: CheckSimilarInput, options?: CallOptions): Promise<Similar> {
    return this.send(OPERATIONS.checkSimilar, input, options);
  }

  /**
   * Open conflicts. Pairs of memories that contradict each other or may be duplicates: both texts, the words that
   * differ, and the key for resolve.
   */
  conflicts(input: ConflictsInput = {}, options?: CallOptions): Promise<Conflicts> {
    return this.send(OPERATIONS.conflicts, input, options);
  }

  /** Create. Stores a node, unless it is a duplicate. */
  createNode(input: CreateNodeInput, options?: CallOptions): Promise<Stored> {
    return this.send(OPERATIONS.createNode, input, options);
  }

  /** Delete. Hides a node; it is kept and can be restored. */
  deleteNode(input: DeleteNodeInput, options?: CallOptions): Promise<Deleted> {
    return this.send(OPERATIONS.deleteNode, input, options);
  }

  /** End an episode. End an episode with its result. It is kept, but cannot be continued. */
  endEpisode(input: EndEpisodeInput, options?: CallOptions): Promise<Memory> {
    return this.send(OPERATIONS.endEpisode, input, options);
  }

  /**
   * Erase permanently. Permanently remove a memory's content and that of its wordings, everywhere; neighbors with
   * rel restates and direction in lists them. This cannot be undone: use it only if the user explicitly asks. To
   * hide a memory, use forget.
   */
  erase(input: EraseInput, options?: CallOptions): Promise<Entry> {
    return this.send(OPERATIONS.erase, input, options);
  }

  /**
   * Execute a plan. Apply a plan. Each action is atomic; memories changed since the plan was made are left alone.
   * undo_run reverts the run.
   */
  execute(input: ExecuteInput, options?: CallOptions): Promise<Run> {
    return this.send(OPERATIONS.execute, input, options);
  }

  /** Forget a memory. Hide a memory that is no longer wanted. It is kept; restore brings it back. */
  forget(input: ForgetInput, options?: CallOptions): Promise<Entry> {
    return this.send(OPERATIONS.forget, input, options);
  }

  /**
   * Forget lessons. Forget what answers have taught the store about its automatic acts; questions and answers stay.
   */
  forgetLessons(options?: CallOptions): Promise<Forgotten> {
    return this.send(OPERATIONS.forgetLessons, {}, options);
  }

  /** Get a memory. One memory of any status, by its id. */
  get(input: GetInput, options?: CallOptions): Promise<Memory> {
    return this.send(OPERATIONS.get, input, options);
  }

  /** Get. One node. Reading it counts as use and delays its decay. */
  getNode(input: GetNodeInput, options?: CallOptions): Promise<Node> {
    return this.send(OPERATIONS.getNode, input, options);
  }

  /** Whether the process is alive. Whether the process is alive. It does not check the store. */
  healthz(options?: CallOptions): Promise<Alive> {
    return this.send(OPERATIONS.healthz, {}, options);
  }

  /** History of a memory. Every state of a memory, oldest first, with the decision behind each. */
  history(input: HistoryInput, options?: CallOptions): Promise<Versions> {
    return this.send(OPERATIONS.history, input, options);
  }

  /**
   * Import JSON lines. Import JSON lines through the gate. Invalid lines are reported by number and do not stop the
   * rest.
   */
  import(input: ImportInput, options?: CallOptions): Promise<string> {
    return this.send(OPERATIONS.import, input, options);
  }

  /** Journal. Every decision of the store, oldest first, with its reasons. Pass an entry's number to undo. */
  journal(input: JournalInput = {}, options?: CallOptions): Promise<Entries> {
    return this.send(OPERATIONS.journal, input, options);
  }

  /**
   * Judge a decision. Say whether a past decision about a write was right, as a person sees it. It changes no
   * memory; the verdicts give the error rate of this store.
   */
  judge(input: JudgeInput, options?: CallOptions): Promise<Entry> {
    return this.send(OPERATIONS.judge, input, options);
  }

  /** Link two memories. Link one memory to another with a relation. Repeating a link changes nothing. */
  link(input: LinkInput, options?: CallOptions): Promise<Link> {
    return this.send(OPERATIONS.link, input, options);
  }

  /**
   * List memories. Memories that match a filter, oldest first; active ones by default. It says which are probably
   * outdated, and how many wordings each has. The next page is where.after the last one. To search, use recall.
   */
  list(input: ListInput = {}, options?: CallOptions): Promise<Memories> {
    return this.send(OPERATIONS.list, input, options);
  }

  /**
   * Listing. Current nodes, newest first. If more is true, others follow: pass the id of the last one as before.
   */
  listNodes(input: ListNodesInput = {}, options?: CallOptions): Promise<Nodes> {
    return this.send(OPERATIONS.listNodes, input, options);
  }

  /**
   * Metrics for Prometheus. Requests, latency, outcomes, open conflicts, unchecked memories and the depth of the
   * queue.
   */
  metrics(options?: CallOptions): Promise<string> {
    return this.send(OPERATIONS.metrics, {}, options);
  }

  /** Linked memories. Memories linked from or to a memory, and linked ids that do not exist. */
  neighbors(input: NeighborsInput, options?: CallOptions): Promise<Neighbors> {
    return this.send(OPERATIONS.neighbors, input, options);
  }

  /**
   * Pack for a prompt. Current memories relevant to a query, without duplicates, as one block of text that fits a
   * token budget.
   */
  pack(input: PackInput, options?: CallOptions): Promise<Pack> {
    return this.send(OPERATIONS.pack, input, options);
  }

  /**
   * Plan a consolidation. Preview a consolidation: merges, flags, promotions and archivings, each with its reason.
   * Writes nothing; execute applies the plan.
   */
  plan(input: PlanInput = {}, options?: CallOptions): Promise<PlanFile> {
    return this.send(OPERATIONS.plan, input, options);
  }

  /**
   * Open questions. Writes that could not be decided, the most valuable first: each with numbered earlier memories
   * that it may repeat, replace or extend.
   */
  questions(input: QuestionsInput = {}, options?: CallOptions): Promise<Asked> {
    return this.send(OPERATIONS.questions, input, options);
  }

  /** Drop a queued write. Remove a statement from the queue without storing it; the answer contains its text. */
  queueDrop(input: QueueDropInput, options?: CallOptions): Promise<QueuedWrite> {
    return this.send(OPERATIONS.queueDrop, input, options);
  }

  /**
   * Flush the queue. Store the queued statements in order; one that fails stays in the queue and does not stop the
   * others.
   */
  queueFlush(input: QueueFlushInput = {}, options?: CallOptions): Promise<Flushed> {
    return this.send(OPERATIONS.queueFlush, input, options);
  }

  /** Queued writes. Queued statements, oldest first; one that could not be stored says why. */
  queuePending(input: QueuePendingInput = {}, options?: CallOptions): Promise<Waiting> {
    return this.send(OPERATIONS.queuePending, input, options);
  }

  /**
   * Remember later. Queue a statement: it is saved durably now, and compared and stored when the queue is flushed.
   * Lessons and other kinds that cannot be deferred are stored at once, as by remember.
   */
  queueRemember(input: QueueRememberInput, options?: CallOptions): Promise<WriteResult> {
    return this.send(OPERATIONS.queueRemember, input, options);
  }

  /**
   * Whether requests can be served. Whether requests can be served: the store answers, and the server is not
   * stopping.
   */
  readyz(options?: CallOptions): Promise<Alive> {
    return this.send(OPERATIONS.readyz, {}, options);
  }

  /**
   * Recall. Current memories relevant to a query, best first. Superseded memories are hidden; open conflicts are
   * listed with the hits they concern. Of two where one is probably outdated, the newer comes first.
   */
  recall(input: RecallInput, options?: CallOptions): Promise<Recalled> {
    return this.send(OPERATIONS.recall, input, options);
  }

  /**
   * Record a decision. Record a decision and its reasons for later sessions. Every call adds a decision, even with
   * the same words.
   */
  recordDecision(input: RecordDecisionInput, options?: CallOptions): Promise<WriteResult> {
    return this.send(OPERATIONS.recordDecision, input, options);
  }

  /**
   * Record a turn. For the agent's host program: store the agent's answer as a decision if it reads like one.
   * Status reports and turns in frames without decisions are not stored; restore stores one anyway.
   */
  recordTurn(input: RecordTurnInput, options?: CallOptions): Promise<WriteResult> {
    return this.send(OPERATIONS.recordTurn, input, options);
  }

  /**
   * Remember. Store a statement in long-term memory. Choose its kind: fact, preference, lesson, decision or note.
   * It is compared with what is stored first; the answer says whether it was created, is a duplicate, evolved or
   * superseded an older memory, or conflicts with one, and why. When it is a duplicate the memory is there: do not
   * try again. If the memory it names is not active, restore that one instead. DEDUPLICATION: Lessons and curiosity
   * items are checked for duplicates before storing. If a very similar memory already exists (95%+ match), the new
   * one won't be created — you'll see which existing memory matched. If a moderately similar memory exists (90-95%
   * match), the new one is created and linked to it.
   */
  remember(input: RememberInput, options?: CallOptions): Promise<WriteResult> {
    return this.send(OPERATIONS.remember, input, options);
  }

  /**
   * Remember many. Store many statements in order, at most 1,000. An invalid one does not stop the rest. Repeating
   * the batch changes nothing.
   */
  rememberMany(input: RememberManyInput, options?: CallOptions): Promise<BatchResult> {
    return this.send(OPERATIONS.rememberMany, input, options);
  }

  /**
   * Resolve a conflict. Decide which of two conflicting memories holds, or that both do. If unsure, ask the user.
   */
  resolve(input: ResolveInput, options?: CallOptions): Promise<Conflict> {
    return this.send(OPERATIONS.resolve, input, options);
  }

  /**
   * Restore a memory. Make a superseded, forgotten or archived memory active again, or store a text that remember
   * dropped; the answer to remember names its id.
   */
  restore(input: RestoreInput, options?: CallOptions): Promise<Restored> {
    return this.send(OPERATIONS.restore, input, options);
  }

  /**
   * Revise a memory. Edit fields of a stored memory. Fields you omit stay as they are; the history keeps the old
   * text. If the facts have changed, remember the new statement instead.
   */
  revise(input: ReviseInput, options?: CallOptions): Promise<Memory> {
    return this.send(OPERATIONS.revise, input, options);
  }

  /** Runs. Imports and consolidations that changed the store, and whether they were undone. */
  runs(input: RunsInput = {}, options?: CallOptions): Promise<Runs> {
    return this.send(OPERATIONS.runs, input, options);
  }

  /** Search. Memories relevant to a query, best first. */
  searchNodes(input: SearchNodesInput, options?: CallOptions): Promise<FoundNodes> {
    return this.send(OPERATIONS.searchNodes, input, options);
  }

  /**
   * Split a wording off. Make a restatement that was kept as a wording a memory of its own: it says something else
   * than its head. It is not merged again automatically; undo reverts the split.
   */
  split(input: SplitInput, options?: CallOptions): Promise<Entry> {
    return this.send(OPERATIONS.split, input, options);
  }

  /**
   * Start an episode. Start an episode (a period of work), or continue the open one. The answer says created or
   * reused; pass the episode's id to end_episode and record_turn.
   */
  startEpisode(input: StartEpisodeInput, options?: CallOptions): Promise<WriteResult> {
    return this.send(OPERATIONS.startEpisode, input, options);
  }

  /** Counts. Number of memories, links, open conflicts and journal entries. */
  stats(options?: CallOptions): Promise<Stats> {
    return this.send(OPERATIONS.stats, {}, options);
  }

  /**
   * Linked surroundings. Memories within a few links of the given ones, the links among them, and linked ids that
   * do not exist.
   */
  subgraph(input: SubgraphInput, options?: CallOptions): Promise<Graph> {
    return this.send(OPERATIONS.subgraph, input, options);
  }

  /**
   * Supersede a memory. Replace a memory that no longer holds by another one. The old one is hidden but kept;
   * restore brings it back.
   */
  supersede(input: SupersedeInput, options?: CallOptions): Promise<Entry> {
    return this.send(OPERATIONS.supersede, input, options);
  }

  /**
   * Undo a journal entry. Undo a write by its entry number, which the write's answer names. The undo is an entry
   * too and can itself be undone.
   */
  undo(input: UndoInput, options?: CallOptions): Promise<Undone> {
    return this.send(OPERATIONS.undo, input, options);
  }

  /**
   * Take answers back. Undo answers, newest first; their questions are open again. What later changes depend on is
   * kept and listed.
   */
  undoAnswers(input: UndoAnswersInput = {}, options?: CallOptions): Promise<UndoReport> {
    return this.send(OPERATIONS.undoAnswers, input, options);
  }

  /** Undo a run. Undo a whole import or consolidation, newest entry first. */
  undoRun(input: UndoRunInput, options?: CallOptions): Promise<UndoReport> {
    return this.send(OPERATIONS.undoRun, input, options);
  }

  /** Remove links. Remove the links from one memory to another, all or of one relation. */
  unlink(input: UnlinkInput, options?: CallOptions): Promise<Removed> {
    return this.send(OPERATIONS.unlink, input, options);
  }

  /** Update. Changes a node; `state_lifecycle: ACTIVE` restores an archived or deleted one. */
  updateNode(input: UpdateNodeInput, options?: CallOptions): Promise<Node> {
    return this.send(OPERATIONS.updateNode, input, options);
  }

  /** Verify the store. Check the whole store; returns each problem with its remedy. */
  verify(options?: CallOptions): Promise<Problems> {
    return this.send(OPERATIONS.verify, {}, options);
  }
}
