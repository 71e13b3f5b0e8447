import fc from "fast-check";
import { expect, test } from "vitest";
import { grow, LONGEST_OPEN, NO_TEXT, splitMarkdown, wholeText, type GrowingText } from "./split";

const line = fc.oneof(fc.constantFrom("", "```", "~~~", "```rust", "- item", "> quote", "    code"), fc.string({ maxLength: 3000 }));
const markdown = fc.array(line, { maxLength: 60 }).map((lines) => lines.join("\n"));

test("nothing is lost between the pieces", () => {
  fc.assert(
    fc.property(markdown, (text) => {
      const pieces = splitMarkdown(text);
      pieces.forEach((piece, i) => {
        const end = pieces[i + 1]?.start ?? text.length;
        expect(piece.text.endsWith(text.slice(piece.start, end))).toBe(true);
      });
      expect(pieces[0]?.start).toBe(0);
    }),
  );
});

test("a text that grows is divided like one that came at once", () => {
  fc.assert(
    fc.property(markdown, fc.array(fc.nat(60_000)), (text, cuts) => {
      const grown = inParts(text, cuts).at(-1);
      expect(grown).toEqual(grow(NO_TEXT, text));
      expect(wholeText(grown ?? NO_TEXT)).toBe(text);
    }),
  );
});

/** The text as it was after each part. */
function inParts(text: string, cuts: number[]): GrowingText[] {
  const places = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
  let now = NO_TEXT;
  return places.slice(1).map((place, i) => (now = grow(now, text.slice(places[i], place))));
}

test.each([
  ["lines", "a line of words\n".repeat(40_000)],
  ["one line", "x".repeat(600_000)],
  ["one line of pairs", "\u{1f600}".repeat(300_000)],
  ["one block of code", "```\n" + "let x = 1;\n".repeat(60_000)],
])("what is closed is never made again, and what is open stays short: %s", (_, text) => {
  const cuts = Array.from({ length: 3_000 }, (_, i) => Math.round((i * text.length) / 3_000));
  let before = NO_TEXT;
  let made = 0;
  for (const now of inParts(text, cuts)) {
    expect(now.open.length).toBeLessThanOrEqual(LONGEST_OPEN);
    let closed = now.closed;
    for (; closed && closed !== before.closed; closed = closed.before) made += closed.piece.text.length;
    expect(closed).toBe(before.closed);
    before = now;
  }
  // Each piece once, with the fences that were put before some.
  expect(made).toBeLessThan(text.length * 1.01);
  expect(wholeText(before)).toBe(text);
  // No character was cut in two.
  expect(splitMarkdown(text).some((piece) => /^[\udc00-\udfff]/.test(piece.text))).toBe(false);
});

test("code that is divided stays code, in its language", () => {
  const text = "```rust\n" + "let x = 1;\n".repeat(5_000) + "```\n\nAfter.\n";
  const pieces = splitMarkdown(text);
  expect(pieces.length).toBeGreaterThan(2);
  for (const piece of pieces.slice(1, -1)) expect(piece.text.startsWith("```rust\n")).toBe(true);
  expect(pieces.at(-1)?.text).toContain("After.");
});

test("a short text is one piece", () => {
  expect(splitMarkdown("hello\n\nworld")).toEqual([{ start: 0, text: "hello\n\nworld" }]);
});
