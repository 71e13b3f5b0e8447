import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { empty, type ToolItem } from "./items";
import { conversationFromDaemon } from "./testing";
import { log, update } from "./samples";

interface Case {
  name: string;
  call: object;
  exited: object[];
  failure: string | null;
}

const cases = JSON.parse(readFileSync("../crates/projection/src/command_output/ends.json", "utf8")) as Case[];

test.each(cases)("$name", ({ call, exited, failure }) => {
  const events = log(
    ...exited.map((payload) => ["terminal_exited", payload] as const),
    update("tool_call", { toolCallId: "c", title: "x", status: "completed", ...call }),
  );
  const item = conversationFromDaemon(empty(), events).items.find((each): each is ToolItem => each.type === "tool");
  expect(item && (item.failure ?? null)).toBe(failure);
});
