// A session's events from wherever we are, every event once and in order.
//
// The cursor is the id of the last event handed on. Events at or before it are dropped here,
// so that no reconnect can double anything; a hole is treated like a lost connection.
import { Follower, type Connection, type Verdict } from "./connection";
import { path } from "./request";
import type { Frame } from "./sse";
import type { LogEvent } from "./types";

export interface EventSink {
  /** New events, in order, those of one read together. */
  onEvents: (events: LogEvent[]) => void;
  /** What we have is of no use any more; everything follows from the beginning. */
  onReset: (reason: string) => void;
  onConnection: (connection: Connection) => void;
  /** The session's last event when the stream was opened: how much is still to come. */
  onHead?: (head: number) => void;
}

/** The part of a stream that needs no network: frames in, events and verdicts out. */
export class Cursor {
  id: string | undefined;
  seq = 0;

  constructor(private readonly sink: Omit<EventSink, "onConnection">) {}

  take(frames: Frame[]): Verdict | undefined {
    const events: LogEvent[] = [];
    let verdict: Verdict | undefined;
    for (const frame of frames) {
      if (frame.id !== undefined) {
        const event = eventOf(frame.data);
        if (!event || event.seq <= this.seq) continue;
        if (event.seq > this.seq + 1) {
          // Sequence numbers have no holes, so something between us and the log lost events.
          verdict = { evicted: "events were missing on the way; reading them again" };
          break;
        }
        events.push(event);
        this.seq = event.seq;
        this.id = frame.id;
        continue;
      }
      const data = objectOf(frame.data);
      if (frame.event === "state_resync_required") {
        // What came before it in this read belongs to the state that is to be forgotten.
        events.length = 0;
        this.seq = 0;
        this.id = undefined;
        this.sink.onReset(resyncReason(data.reason));
        verdict = { resync: resyncReason(data.reason) };
      } else if (frame.event === "stream") {
        if (typeof data.head === "number") this.sink.onHead?.(data.head);
      } else {
        const end = endOf(frame.event, data);
        if (end) {
          verdict = end;
          break;
        }
      }
    }
    if (events.length > 0) this.sink.onEvents(events);
    return verdict;
  }
}

/** Follows a session until closed. */
export function followSession(session: string, sink: EventSink): Follower {
  const cursor = new Cursor(sink);
  return new Follower({
    path: path`/v1/sessions/${session}/events`,
    query: () => ({ after: cursor.id ?? 0, format: "acp" }),
    onFrames: (frames) => cursor.take(frames),
    onConnection: sink.onConnection,
  });
}

function endOf(event: string, data: Record<string, unknown>): Verdict | undefined {
  switch (event) {
    case "client_evicted":
      return { evicted: "this page read too slowly and lost its place; coming back" };
    case "session_deleted":
      return { end: "this session was deleted" };
    case "revoked":
      return { end: "the login of this browser was revoked" };
    case "stream_error":
      return { end: `the log cannot be read further: ${String(data.detail ?? "")}` };
    case "stream_end":
      return { end: String(data.reason ?? "the stream is over") };
    default:
      // `daemon_stopping` is followed by the end of the connection, and then we come back;
      // `slow_client_warning` and what newer daemons may say need no answer.
      return undefined;
  }
}

function resyncReason(reason: unknown): string {
  switch (reason) {
    case "other_epoch":
      return "the log has changed since; everything was read again";
    case "beyond_head":
      return "events that were shown here are not in the log; everything was read again";
    default:
      return "the place in the log was lost; everything was read again";
  }
}

function eventOf(data: string): LogEvent | undefined {
  const event = objectOf(data);
  if (typeof event.seq !== "number" || typeof event.kind !== "string") return undefined;
  return event as unknown as LogEvent;
}

function objectOf(data: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
