import fc from "fast-check";
import { expect, test } from "vitest";
import { Splitter, splitMarkdown } from "./split";

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
      const splitter = new Splitter();
      for (const cut of cuts.sort((a, b) => a - b)) splitter.pieces("k", text.slice(0, cut));
      expect(splitter.pieces("k", text)).toEqual(splitMarkdown(text));
    }),
  );
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
