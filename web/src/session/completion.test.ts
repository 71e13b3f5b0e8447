import { expect, test } from "vitest";
import { accept, fileSuggestion, matchCommands, targetAt, mentionsIn } from "./completion";

test("a slash is a command only at the very beginning", () => {
  expect(targetAt("/he", 3)).toMatchObject({ kind: "command", words: "he" });
  expect(targetAt("say /he", 7)).toBeUndefined();
  expect(targetAt("/help me", 8)).toBeUndefined();
});

test("an at-sign is a file after a space, and no part of an address", () => {
  expect(targetAt("look at @src/ma", 15)).toMatchObject({ kind: "file", words: "src/ma", from: 8 });
  expect(targetAt("me@example", 10)).toBeUndefined();
});

test("what begins so comes first", () => {
  const commands = ["reload", "load"].map((name) => ({ name, description: "" }));
  expect(matchCommands(commands, "lo").map((each) => each.label)).toEqual(["/load", "/reload"]);
});

test("accepting replaces the words and nothing else", () => {
  const text = "see @ma and go";
  const target = targetAt(text, 7);
  expect(target && accept(text, target, fileSuggestion("src/main.rs"))).toEqual({ text: "see @src/main.rs and go", cursor: 16 });
});

test("files are found where they are mentioned, also those whose names have several words", () => {
  const known = new Set(["a.md", "dir with space/my file.txt", "my cat.png"]);
  expect(mentionsIn("see @a.md, and @dir with space/my file.txt and @my", known)).toEqual(["a.md", "dir with space/my file.txt"]);
});
