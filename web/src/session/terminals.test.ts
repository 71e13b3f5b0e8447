import fc from "fast-check";
import { expect, test } from "vitest";
import type { LogEvent } from "../api/types";
import { empty, type ToolItem } from "./items";
import { conversationFromDaemon } from "./testing";
import { log, update } from "./samples";
import { areCommandsLeft } from "./terminals";

type Sample = Parameters<typeof log>[number];

const printed = (data: string, terminalId = "term_1"): Sample => ["terminal_output", { terminalId, data }, "t1"];
const exited = (payload: object): Sample => ["terminal_exited", { terminalId: "term_1", ...payload }, "t1"];
const CALL = update("tool_call", {
  toolCallId: "c",
  title: "Run",
  kind: "execute",
  status: "in_progress",
  content: [{ type: "terminal", terminalId: "term_1" }],
});

function toolsOf(events: LogEvent[]): ToolItem[] {
  return conversationFromDaemon(empty(), events).items.filter((item) => item.type === "tool");
}

test("output that comes before, around and after the call that names its terminal is in it once and in order", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 20 })), fc.nat(), fc.nat(), (pieces, at, cut) => {
      const samples = pieces.map((data) => printed(data));
      samples.splice(at % (samples.length + 1), 0, CALL);
      const events = log(...samples, exited({ exitCode: 3 }));
      const whole = conversationFromDaemon(empty(), events);
      const some = cut % (events.length + 1);
      const inTwo = conversationFromDaemon(conversationFromDaemon(empty(), events.slice(0, some)), events.slice(Math.max(0, some - 2)));
      expect(inTwo).toEqual(whole);
      expect(whole.items).toHaveLength(1);
      expect(toolsOf(events)[0]?.terminals).toEqual({
        term_1: { text: pieces.join(""), exit: { code: 3 }, isTruncated: false },
      });
    }),
  );
});

test("a terminal that nobody has named shows nothing, and is no odd update", () => {
  expect(conversationFromDaemon(empty(), log(printed("x"), exited({ signal: "SIGKILL" }))).items).toEqual([]);
});

test("two calls may name one terminal, and one call two", () => {
  const twoTerminals = update("tool_call_update", {
    toolCallId: "d",
    content: [
      { type: "terminal", terminalId: "term_1" },
      { type: "terminal", terminalId: "__proto__" },
    ],
  });
  const [first, second] = toolsOf(log(CALL, twoTerminals, printed("a"), printed("b", "__proto__")));
  expect(Object.entries(first?.terminals ?? {}).map(([id, { text }]) => [id, text])).toEqual([["term_1", "a"]]);
  expect(Object.entries(second?.terminals ?? {}).map(([id, { text }]) => [id, text])).toEqual([
    ["term_1", "a"],
    ["__proto__", "b"],
  ]);
});

test("only the call that has a terminal changes with its output", () => {
  const before = conversationFromDaemon(empty(), log(CALL, update("tool_call", { toolCallId: "other", title: "x" })));
  const after = conversationFromDaemon(before, [
    { seq: 3, time: 1, turn: "t1", kind: "terminal_output", payload: { terminalId: "term_1", data: "x" } },
  ]);
  expect(after.items[0]).not.toBe(before.items[0]);
  expect(after.items[1]).toBe(before.items[1]);
  expect(before.items[0]).toMatchObject({ type: "tool" });
  expect((before.items[0] as ToolItem).terminals).toBeUndefined();
});

test("of a terminal that prints without end the end is kept", () => {
  const chunk = "x".repeat(16_384);
  const events = log(CALL, ...Array.from({ length: 200 }, () => printed(chunk)), printed("the end"));
  const text = toolsOf(events)[0]?.terminals?.term_1?.text ?? "";
  expect(text.length).toBeLessThanOrEqual(1024 * 1024);
  expect(text.endsWith("the end")).toBe(true);
});

test("a call is marked while a question about it waits", () => {
  const call = update("tool_call", { toolCallId: "c", title: "Edit", status: "pending" });
  const asked: Sample = [
    "permission_requested",
    { requestId: "q", ask: true, request: { toolCall: { toolCallId: "c" }, options: [] } },
    "t1",
  ];
  const resolved: Sample = ["permission_resolved", { requestId: "q", by: { who: "client" }, allowed: true }, "t1"];
  expect(toolsOf(log(call, asked))[0]?.isAsked).toBe(true);
  expect(toolsOf(log(call, asked, resolved))[0]?.isAsked).toBe(false);
});

test("silence while a question waits is not worth a word, and a plan ends with its turn", () => {
  const asked: Sample = ["permission_requested", { requestId: "q", ask: true, request: { options: [] } }, "t1"];
  const quiet: Sample = ["agent_quiet", { quietMs: 600_000 }, "t1"];
  const titles = (events: LogEvent[]) =>
    conversationFromDaemon(empty(), events).items.flatMap((item) => (item.type === "notice" ? item.title : []));
  expect(titles(log(asked, quiet))).toEqual([]);
  expect(titles(log(quiet))).toHaveLength(1);

  const planned = log(
    ["turn_started", {}, "t1"],
    update("plan", { entries: [{ content: "a", status: "completed" }] }),
    ["turn_ended", {}, "t1"],
    ["turn_started", {}, "t2"],
  );
  expect(conversationFromDaemon(empty(), planned.slice(0, 3)).plan).toBeDefined();
  expect(conversationFromDaemon(empty(), planned).plan).toBeUndefined();
});

test("commands are left when a turn is over and one of them has not ended", () => {
  const turn = (...samples: Sample[]) => conversationFromDaemon(empty(), log(["turn_started", {}, "t1"], CALL, printed("x"), ...samples));
  const end: Sample = ["turn_ended", { stopReason: "end_turn" }, "t1"];
  expect(areCommandsLeft(turn())).toBe(false);
  expect(areCommandsLeft(turn(end))).toBe(true);
  expect(areCommandsLeft(turn(end, exited({ exitCode: 0 })))).toBe(false);
  expect(areCommandsLeft(turn(end, ["worker_exited", {}, undefined]))).toBe(false);
});
