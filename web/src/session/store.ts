// A session that is open in this page: its conversation as it changes, and its data beside the log.
// Views read snapshots; nothing else is mutable.
import { UNCONNECTED, type Connection, type Follower } from "../api/connection";
import { followSession } from "../api/events";
import { asProblem, isAbort, type Problem } from "../api/problem";
import { path, requestJson } from "../api/request";
import type { ConversationChanges, Session } from "../api/types";
import { apply } from "./apply";
import { empty, type Conversation } from "./items";

export interface OpenSession {
  conversation: Conversation;
  connection: Connection;
  /** The session as the list has it; missing until it was read. */
  session?: Session;
  problem?: Problem;
  /** The last event when the stream was opened; until it is known the log is still being read. */
  head?: number;
  /** Everything known at the time of opening was read. */
  isRead: boolean;
  /** The reason for reading everything again, if that happened. */
  resynced?: string;
  /** The reason why the session cannot go on, if nothing came of it since. */
  halted?: string;
}

// Several changes in a row are one request.
const REREAD_AFTER = 120;
// A hidden page draws no frames, and still has to change its title.
const HIDDEN_FLUSH = 250;

export class OpenSessionStore {
  readonly id: string;
  #open: OpenSession = { conversation: empty(), connection: UNCONNECTED, isRead: false };
  #pending: ConversationChanges[] = [];
  #readers = new Set<() => void>();
  #follower: Follower | undefined;
  #stop = new AbortController();
  #flushing: (() => void) | undefined;
  #reread: ReturnType<typeof setTimeout> | undefined;

  constructor(id: string) {
    this.id = id;
  }

  start(): void {
    this.#stop = new AbortController();
    this.#follower = followSession(this.id, {
      onEvent: (event) => this.#take(event),
      onReset: (reason) => this.#reset(reason),
      onConnection: (connection) => {
        this.#set({ connection });
        if (connection.phase === "live") void this.readSession();
      },
      onHead: (head) => this.#set({ head, halted: undefined, isRead: this.#open.isRead || head === 0 }),
      onHalt: (halted) => {
        // The log may not say for long that nothing runs any more, and that nobody hears an answer.
        this.#set({ halted, conversation: { ...this.#open.conversation, running: undefined, waiting: [] } });
        this.readSessionSoon();
      },
    });
    void this.readSession();
  }

  stop(): void {
    this.#follower?.close();
    this.#stop.abort();
    this.#flushing?.();
    this.#flushing = undefined;
    clearTimeout(this.#reread);
    // Changes that were read and not yet shown must not be skipped when the store is started again.
    this.#pending = [];
    this.#open = { conversation: empty(), connection: UNCONNECTED, isRead: false };
  }

  snapshot = (): OpenSession => this.#open;

  subscribe = (reader: () => void): (() => void) => {
    this.#readers.add(reader);
    return () => this.#readers.delete(reader);
  };

  /** Reads the data that is not in the log: title, options, status. */
  async readSession(): Promise<void> {
    try {
      const session = await requestJson<Session>(path`/v1/sessions/${this.id}`, { signal: this.#stop.signal });
      this.setSession(session);
    } catch (error) {
      if (isAbort(error)) return;
      const problem = asProblem(error);
      // The connection's state shows that the daemon is away.
      if (!problem.isUnreachable) this.#set({ problem });
    }
  }

  setSession(session: Session): void {
    // Options are only reported while the agent runs; they are still those that it will have.
    const options = session.options ?? this.#open.session?.options;
    this.#set({ session: { ...session, options }, problem: undefined });
  }

  readSessionSoon = (): void => {
    clearTimeout(this.#reread);
    this.#reread = setTimeout(() => void this.readSession(), REREAD_AFTER);
  };

  #take(changes: ConversationChanges): void {
    if (this.#open.halted !== undefined) this.#set({ halted: undefined });
    this.#pending.push(changes);
    this.#flushing ??= onNextFrame(() => this.#flush());
  }

  #flush(): void {
    this.#flushing = undefined;
    const before = this.#open.conversation;
    const conversation = apply(before, this.#pending);
    this.#pending = [];
    const isRead = this.#open.isRead || conversation.seq >= (this.#open.head ?? Infinity);
    this.#set({ conversation, isRead });
    if (conversation.settings !== before.settings || conversation.running !== before.running || conversation.title !== before.title) {
      this.readSessionSoon();
    }
  }

  #reset(reason: string): void {
    this.#pending = [];
    this.#set({ conversation: empty(), isRead: false, resynced: reason });
  }

  #set(change: Partial<OpenSession>): void {
    this.#open = { ...this.#open, ...change };
    for (const reader of this.#readers) reader();
  }
}

/** Runs once at the next frame, so that events within one frame are drawn once. Returns what cancels it. */
export function onNextFrame(run: () => void): () => void {
  let isDone = false;
  const once = () => {
    if (isDone) return;
    isDone = true;
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    run();
  };
  const frame = requestAnimationFrame(once);
  const timer = setTimeout(once, HIDDEN_FLUSH);
  return () => {
    isDone = true;
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}
