import { expect, test } from "vitest";
import { unshownInput } from "./unshownInput";

const diff = (path: string, oldText: string, newText: string) => ({ type: "diff", path, oldText, newText });
const ONE = [diff("/w/a", "1\n2\n3\n", "1\ntwo\n3\n")];

test("members that a change shows are left out", () => {
  for (const input of [
    {},
    { path: "/w/a", replace_all: false },
    { filepath: "/w/a", diff: "Index: /w/a\n===\n--- /w/a\t\n+++ a\n@@\n-2\n+two\n" },
    { file_path: "a", content: "1\ntwo\n3\n", mode: null },
    { path: "./a", old_string: "2", new_string: "two" },
    { path: "a", edits: [{ oldText: "2\n3", newText: "two\n3" }] },
    {
      edits: [
        { old_string: "1", new_string: "one", replace_all: false },
        { old_string: "one\n2", new_string: "1\ntwo", path: "a" },
      ],
    },
    { diff: "@@ -1 +1 @@\n 1\n@@ -2 +2 @@\n-2\n+two\n" },
    {
      changes: [{ path: "/w/a", kind: { type: "update", move_path: null }, diff: "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n" }],
    },
  ])
    expect(unshownInput(input, ONE, "/w")).toBeUndefined();
});

test("members that a change does not show stay", () => {
  for (const input of [
    "a",
    ["a"],
    1,
    { path: "/w/b" },
    { path: "../a" },
    { content: "two" },
    { content: "" },
    { x: "two" },
    { replace_all: true },
    { new_string: "other" },
    { new_string: "two" },
    { old_string: "3\n", new_string: "" },
    { old_string: "3\n", newString: "" },
    {
      edits: [
        { old_string: "2", new_string: "two" },
        { old_string: "3", new_string: "" },
      ],
    },
    { patch: "@@\n-3\n" },
    { patch: "@@\n-2\n+two\n@@\n-3\n" },
    { command: "two" },
    { edits: [] },
    { edits: [{ new_string: "two" }, "x"] },
    { edits: [{ new_string: "two", x: "two" }] },
    { kind: "delete" },
    { patch: "@@\n+evil" },
    { patch: "--- a\n+++ /etc/passwd\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n" },
    { patch: "*** Delete File: b" },
    { patch: "" },
  ])
    expect(unshownInput(input, ONE, "/w")).toEqual(input);
  expect(unshownInput({ path: "/w/a", x: 1 }, ONE, "/w")).toEqual({ x: 1 });
});

test("a change of one file shows nothing of another", () => {
  const two = [diff("/w/a", "", "one"), diff("/w/b", "", "two")];
  expect(unshownInput({ path: "/w/a", content: "one" }, two, "/w")).toBeUndefined();
  expect(unshownInput({ path: "/w/a", content: "two" }, two, "/w")).toEqual({ content: "two" });
});

test("text of the file that the change does not show stays", () => {
  const far = (last: string) => `EVIL\n${"x\n".repeat(20)}${last}\n`;
  const change = [diff("/w/a", far("a"), far("b"))];
  const evil = { old_string: "EVIL", new_string: "EVIL" };
  expect(unshownInput(evil, change, "/w")).toEqual(evil);
  expect(unshownInput({ old_string: far("a"), new_string: far("b") }, change, "/w")).toBeUndefined();
});
