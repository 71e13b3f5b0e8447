// A session's events from any point on, every event once and in order.
//
// The cursor is the id of the last event handed on. Events at or before it are dropped here,
// so that no reconnect can double anything; a hole is treated like a lost connection.
import { Follower, type Connection, type StreamSignal } from "./connection";
import { object, text, type Json } from "./json";
import { path } from "./request";
import type { Frame } from "./socket";
import type { ConversationChanges, LogEvent } from "./types";

/** The reason of a stream's end whose session was deleted; no login would bring it back. */
export const DELETED = "this session was deleted";

/** Data of one event in a stream. */
interface Numbered {
  seq: number;
}

export interface EventSink<T extends Numbered> {
  /** The next event's data. */
  onEvent: (event: T) => void;
  /** Everything that was received is of no use any more; it all comes again from the beginning. */
  onReset: (reason: string) => void;
  onConnection: (connection: Connection) => void;
  /** The session's last event when the stream was opened: how much is still to come. */
  onHead?: (head: number) => void;
  /** The session stopped before its time; everything before that has been sent. */
  onHalt?: (why: string) => void;
}

/** The part of a stream that needs no network: frames in, events and signals out. */
export class Cursor<T extends Numbered> {
  id: string | undefined;

  constructor(
    private readonly sink: Omit<EventSink<T>, "onConnection">,
    /** The event after which it begins. */
    public seq = 0,
  ) {}

  take(frame: Frame): StreamSignal | undefined {
    if (frame.id !== undefined) return this.#event(frame.id, frame.data);
    const data = object(frame.data);
    if (frame.event === "state_resync_required") {
      this.seq = 0;
      this.id = undefined;
      const reason = resyncReason(data.reason);
      this.sink.onReset(reason);
      return { resync: reason };
    }
    if (frame.event === "stream") {
      if (typeof data.head === "number") this.sink.onHead?.(data.head);
      return undefined;
    }
    if (frame.event === "session_halted") {
      this.sink.onHalt?.(text(data.detail) ?? "");
      return undefined;
    }
    return endOf(frame.event, data);
  }

  #event(id: string, data: unknown): StreamSignal | undefined {
    if (!isNumbered(data) || data.seq <= this.seq) return undefined;
    const event = data as T;
    // Sequence numbers have no holes, so something between us and the log lost events.
    if (event.seq > this.seq + 1) return { evicted: "events were missing on the way; reading them again" };
    this.seq = event.seq;
    this.id = id;
    this.sink.onEvent(event);
    return undefined;
  }
}

/** Follows a session's conversation until closed. */
export function followSession(session: string, sink: EventSink<ConversationChanges>): Follower {
  return follow(session, "conversation", new Cursor(sink), sink);
}

/** Follows a session's events as they are in the log, from the one after `after` on. */
export function followLog(session: string, after: number, sink: EventSink<LogEvent>): Follower {
  return follow(session, "acp", new Cursor(sink, after), sink);
}

function follow<T extends Numbered>(session: string, format: string, cursor: Cursor<T>, sink: EventSink<T>): Follower {
  return new Follower({
    path: path`/v1/sessions/${session}/events`,
    query: () => ({ after: cursor.id ?? cursor.seq, format }),
    onFrame: (frame) => cursor.take(frame),
    onConnection: sink.onConnection,
  });
}

function endOf(event: string, data: Json): StreamSignal | undefined {
  switch (event) {
    case "client_evicted":
      return { evicted: "this page read too slowly and lost its place; coming back" };
    case "session_deleted":
      return { end: DELETED };
    case "revoked":
      return { end: "the login of this browser was revoked" };
    case "stream_error":
      return { end: `the log cannot be read further: ${text(data.detail) ?? ""}` };
    case "stream_end":
      return { end: text(data.reason) ?? "the stream is over" };
    default:
      // `daemon_stopping` is followed by the end of the connection, and then we reconnect;
      // `heartbeat`, `slow_client_warning` and events of newer daemons need no answer.
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

/** Data is trusted to be as the API's document says; another format would have no number. */
function isNumbered(data: unknown): data is Numbered {
  return typeof object(data).seq === "number";
}
