// A conversation from a log that a test wrote, by the changes that the daemon sends for it: tests of
// views begin where a session does, with events.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import type { ConversationChanges, LogEvent } from "../api/types";
import { apply } from "./apply";
import { empty, type Conversation } from "./items";

const CHANGES_PROGRAM = `${process.env.CARGO_TARGET_DIR ?? "../target"}/debug/examples/changes`;

/** The events that made a conversation, so that a test can go on with it. */
const logs = new WeakMap<Conversation, readonly LogEvent[]>();

/** The changes that the daemon sends for a log. */
export function changesOf(events: readonly LogEvent[]): ConversationChanges[] {
  if (!existsSync(CHANGES_PROGRAM)) throw new Error("run `make web-test`, or cargo build -p projection --example changes");
  const output = spawnSync(CHANGES_PROGRAM, { input: JSON.stringify(events), encoding: "utf8", maxBuffer: 2 ** 30 });
  if (output.status !== 0) throw new Error(output.stderr);
  return JSON.parse(output.stdout) as ConversationChanges[];
}

/** The conversation after more events; those that it has seen change nothing. */
export function conversationFromDaemon(before: Conversation, events: readonly LogEvent[]): Conversation {
  const known = logs.get(before) ?? [];
  const all = [...known, ...events.filter((event) => event.seq > before.seq)];
  const after = apply(before, changesOf(all));
  logs.set(after, all);
  return after;
}

export function conversationOf(events: readonly LogEvent[]): Conversation {
  return conversationFromDaemon(empty(), events);
}
