// The last events of a session as they are in its log, as they come.
import type { Follower } from "../api/connection";
import { followLog } from "../api/events";
import type { LogEvent } from "../api/types";
import { onNextFrame } from "./store";

// Events that are kept: for what happened lately; a whole log is for the export.
const KEPT = 5_000;

export class LogStore {
  #events: readonly LogEvent[] = [];
  #pending: LogEvent[] = [];
  #readers = new Set<() => void>();
  #follower: Follower | undefined;
  #flushing: (() => void) | undefined;

  /** `head` is the session's last event, as far as that is known. */
  constructor(
    private readonly id: string,
    private readonly head: number,
  ) {}

  /** Follows the log for as long as somebody reads it. */
  subscribe = (reader: () => void): (() => void) => {
    this.#readers.add(reader);
    this.#follower ??= followLog(this.id, Math.max(0, this.head - KEPT), {
      onEvent: (event) => {
        this.#pending.push(event);
        this.#flushing ??= onNextFrame(() => this.#flush());
      },
      onReset: () => this.#set([]),
      onConnection: () => undefined,
    });
    return () => {
      this.#readers.delete(reader);
      if (this.#readers.size > 0) return;
      this.#follower?.close();
      this.#follower = undefined;
      this.#flushing?.();
      this.#flushing = undefined;
      this.#pending = [];
      this.#events = [];
    };
  };

  snapshot = (): readonly LogEvent[] => this.#events;

  #flush(): void {
    this.#flushing = undefined;
    const all = [...this.#events, ...this.#pending];
    this.#pending = [];
    this.#set(all.slice(-KEPT));
  }

  #set(events: readonly LogEvent[]): void {
    this.#events = events;
    for (const reader of this.#readers) reader();
  }
}
