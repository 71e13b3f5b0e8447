import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { empty } from "./items";
import { conversationFromDaemon } from "./testing";
import { log, update } from "./samples";
import { wholeText } from "./split";

interface Case {
  name: string;
  /** Null stands for the agent's notification that it tries again. */
  pieces: (string | null)[];
  shown: string;
}

const cases = JSON.parse(readFileSync("../crates/projection/src/repeat_filter/cases.json", "utf8")) as Case[];

test.each(cases)("$name", ({ pieces, shown }) => {
  const events = log(
    ["turn_started", {}, "t1"],
    ...pieces.map((piece) =>
      piece === null
        ? (["agent_notification", { method: "_session/retrying", params: {} }, "t1"] as const)
        : update("agent_message_chunk", { content: { type: "text", text: piece } }),
    ),
  );
  // However the events come, in one batch or one by one.
  const whole = conversationFromDaemon(empty(), events);
  const apart = events.reduce((before, event) => conversationFromDaemon(before, [event]), empty());
  for (const { items } of [whole, apart]) {
    expect(items.map((item) => (item.type === "answer" ? wholeText(item.text) : "")).join("")).toBe(shown);
  }
});
