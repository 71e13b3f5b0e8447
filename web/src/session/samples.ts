// Logs to test with: written by hand, and any at all.
import fc from "fast-check";
import type { LogEvent } from "../api/types";

type Sample = readonly [kind: string, payload: unknown, turn?: string];

export function log(...samples: Sample[]): LogEvent[] {
  return samples.map(([kind, payload, turn], i) => ({ seq: i + 1, time: 1_000 + i, kind, payload, turn }));
}

export function update(kind: string, body: object, turn = "t1"): Sample {
  return [kind, { sessionId: "s", update: { sessionUpdate: kind, ...body } }, turn];
}

const turn = fc.constantFrom("t1", "t2", "t3");
const id = fc.constantFrom("a", "b", "c");
const words = fc.string({ maxLength: 12 });

const sample: fc.Arbitrary<Sample> = fc.oneof(
  fc.tuple(words, turn).map(([text, t]) => update("agent_message_chunk", { content: { type: "text", text } }, t)),
  fc.tuple(words, turn).map(([text, t]) => update("agent_thought_chunk", { content: { type: "text", text } }, t)),
  fc.tuple(id, words, turn).map(([toolCallId, title, t]) => update("tool_call", { toolCallId, title, status: "pending" }, t)),
  fc
    .tuple(id, fc.constantFrom("in_progress", "completed", "failed", "odd"), turn)
    .map(([toolCallId, status, t]) => update("tool_call_update", { toolCallId, status, content: [] }, t)),
  fc
    .tuple(fc.array(words, { maxLength: 3 }), turn)
    .map(([all, t]) => update("plan", { entries: all.map((content) => ({ content, status: "pending" })) }, t)),
  fc.tuple(words, turn).map(([text, t]): Sample => ["prompt_received", { by: "x", prompt: [{ type: "text", text }] }, t]),
  turn.map((t): Sample => ["turn_started", {}, t]),
  turn.map((t): Sample => ["turn_ended", { stopReason: "end_turn" }, t]),
  turn.map((t): Sample => ["prompt_dropped", { reason: "cancelled" }, t]),
  fc
    .tuple(id, fc.boolean(), turn)
    .map(([requestId, ask, t]): Sample => [
      "permission_requested",
      { requestId, ask, request: { toolCall: { toolCallId: requestId }, options: [] } },
      t,
    ]),
  fc.tuple(id, turn).map(([requestId, t]): Sample => ["permission_resolved", { requestId, by: { who: "client" }, allowed: true }, t]),
  fc.tuple(id, words).map(([terminalId, data]): Sample => ["terminal_output", { terminalId, data }, "t1"]),
  id.map((terminalId): Sample => ["terminal_exited", { terminalId, exitCode: 0 }, "t1"]),
  fc
    .tuple(id, id, turn)
    .map(([toolCallId, terminalId, t]) => update("tool_call_update", { toolCallId, content: [{ type: "terminal", terminalId }] }, t)),
  words.map((text): Sample => ["agent_stderr", { text }, "t1"]),
  fc.constant<Sample>(["worker_exited", { code: 1, stopped: false }, "t1"]),
  fc.constant(update("something_new", {})),
);

export const arbitraryLog: fc.Arbitrary<LogEvent[]> = fc.array(sample, { maxLength: 60 }).map((samples) => log(...samples));
