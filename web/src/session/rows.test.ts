import fc from "fast-check";
import { expect, test } from "vitest";
import { empty } from "./items";
import { conversationFromDaemon } from "./testing";
import { Rows } from "./rows";
import { arbitraryLog, log, update } from "./samples";

test("rows that were made step by step are those of the whole, and the old ones stay the same", () => {
  fc.assert(
    fc.property(arbitraryLog, fc.array(fc.nat(60)), (events, cuts) => {
      const rows = new Rows();
      let now = empty();
      for (const cut of [...cuts.sort((a, b) => a - b), events.length]) {
        const before = now;
        const old = rows.of(before.items);
        now = conversationFromDaemon(now, events.slice(0, cut));
        const made = rows.of(now.items);
        before.items.forEach((item, i) => {
          if (now.items[i] === item) expect(made[i]).toBe(old[i]);
        });
      }
      expect(rows.of(now.items)).toEqual(new Rows().of(now.items));
    }),
  );
});

test("while an answer grows the rows of its closed pieces stay the same", () => {
  const rows = new Rows();
  const events = log(
    ...Array.from({ length: 60 }, (_, i) =>
      update("agent_message_chunk", { content: { type: "text", text: `${i} ${"word ".repeat(200)}\n\nNext ` } }),
    ),
  );
  let now = empty();
  let old = rows.of(now.items);
  for (const event of events) {
    now = conversationFromDaemon(now, [event]);
    const made = rows.of(now.items);
    old.slice(0, -1).forEach((row, i) => expect(made[i]).toBe(row));
    old = made;
  }
  expect(old.length).toBeGreaterThan(5);
  expect(new Set(old.map((row) => row.key)).size).toBe(old.length);
  expect(old).toEqual(new Rows().of(now.items));
});
