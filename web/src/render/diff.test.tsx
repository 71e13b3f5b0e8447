// @vitest-environment jsdom
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { diffOf, linesOf, sideBySide } from "./diff";
import { Diff } from "./Diff";

afterEach(() => {
  cleanup();
  localStorage.clear();
});

const text = fc
  .array(fc.constantFrom("a", "b", "c", "", "longer line"), { maxLength: 40 })
  .map((lines) => lines.map((line) => `${line}\n`).join(""));

test("old and new can be read back from the lines that are kept and left out", () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const diff = diffOf(before, after);
      const skipped = diff.hunks.reduce((n, hunk) => n + hunk.skipped, diff.skippedAfter);
      const kept = diff.hunks.flatMap((hunk) => hunk.lines);
      expect(kept.filter((line) => line.kind !== "added").length + skipped).toBe(linesOf(before).length);
      expect(kept.filter((line) => line.kind !== "removed").length + skipped).toBe(linesOf(after).length);
      for (const line of kept) {
        if (line.before !== undefined) expect(linesOf(before)[line.before - 1]).toBe(line.text);
        if (line.after !== undefined) expect(linesOf(after)[line.after - 1]).toBe(line.text);
        if (line.parts) expect(line.parts.map((part) => part.text).join("")).toBe(line.text);
      }
    }),
  );
});

test("side by side has every line once on its side", () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffOf(before, after).hunks.flatMap((hunk) => hunk.lines);
      const rows = sideBySide(lines);
      expect(rows.flatMap(([left]) => left ?? []).length).toBe(lines.filter((line) => line.kind !== "added").length);
      expect(rows.flatMap(([, right]) => right ?? []).length).toBe(lines.filter((line) => line.kind !== "removed").length);
    }),
  );
});

test("texts that have nothing in common are compared in time", () => {
  const before = Array.from({ length: 6_000 }, (_, i) => `old ${i}`).join("\n");
  const after = Array.from({ length: 6_000 }, (_, i) => `new ${i}`).join("\n");
  const diff = diffOf(before, after);
  expect(diff).toMatchObject({ added: 6_000, removed: 6_000, isWhole: true });
});

test("changed ends of lines are changes, those that stay are none", () => {
  const linesIn = (before: string, after: string) =>
    diffOf(before, after).hunks.flatMap((hunk) => hunk.lines.map((line) => `${line.kind} ${line.text}${line.lacksEnd ? " lacks" : ""}`));
  expect(linesIn("a\n", "a\r\n")).toEqual(["removed a", "added a\r"]);
  expect(linesIn("a\nb", "a\nb\n")).toEqual(["same a", "removed b lacks", "added b"]);
  expect(linesIn("a\n", "a")).toEqual(["removed a", "added a lacks"]);
  expect(linesIn("a", "a\nb")).toEqual(["same a", "added b"]);
  expect(linesIn("", "a")).toEqual(["added a"]);
});

describe("drawn", () => {
  test("a line without an end says so, and other ends of lines are seen", () => {
    const { container } = render(<Diff path="a" before={"a\nb\n"} after={"a\r\nb"} />);
    expect(container.textContent).toContain("a␍");
    expect(container.textContent).toContain("\\ No newline at end of file");
  });

  test("unified, then side by side, and the choice is kept", () => {
    const first = render(<Diff path="a.txt" before={"one\ntwo\n"} after={"one\n2\n"} />);
    expect(first.container.querySelector("table.unified")).not.toBeNull();
    fireEvent.click(screen.getByRole("button", { name: "Show side by side" }));
    expect(first.container.querySelector("table.split")).not.toBeNull();
    first.unmount();
    const second = render(<Diff path="b.txt" before="x" after="y" />);
    expect(second.container.querySelector("table.split")).not.toBeNull();
  });

  test("the selector of emoji is seen where there is no emoji", () => {
    const { container } = render(<Diff path="a" before={""} after={"r\ufe0fm ❤\ufe0f 1\ufe0f\u20e3 1\ufe0f\ufe00"} />);
    expect(container.textContent).toContain("r‹U+FE0F›m ❤\ufe0f 1\ufe0f\u20e3 1‹U+FE0F›‹U+FE00›");
  });

  test("hostile lines and paths are text", () => {
    const { container } = render(<Diff path={"<img src=x>\u202Egnp"} before={"<script>1</script>\n"} after={"\u001b[2J<b>\n"} />);
    expect(container.querySelector("script, img, b")).toBeNull();
    expect(container.textContent).toContain("<img src=x>‹U+202E›gnp");
    expect(container.textContent).toContain("␛[2J<b>");
  });

  test("a giant line is cut", () => {
    const { container } = render(<Diff path="a" before="" after={"x".repeat(100_000)} />);
    expect(container.textContent?.length).toBeLessThan(4_000);
  });
});
