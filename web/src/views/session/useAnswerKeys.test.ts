// The keys that answer, and which option each of them takes.
import { expect, test } from "vitest";
import { keysOf, optionFor } from "./useAnswerKeys";

const option = (optionId: string, kind: string) => ({ optionId, name: optionId, kind });

test("y takes the first of several grants", () => {
  const options = [
    option("accept", "allow_once"),
    option("no", "reject_once"),
    option("always", "allow_always"),
    option("less", "allow_once"),
  ];
  expect(optionFor("y", options)?.optionId).toBe("accept");
  expect(keysOf(options).map(({ key }) => key)).toEqual(["1", "2", "3", "4", "y", "n"]);
});

test("y takes none of several answers to a question", () => {
  const options = [option("red", "allow_once"), option("blue", "allow_once"), option("skip", "reject_once")];
  expect(optionFor("y", options)).toBeUndefined();
  expect(keysOf(options).map(({ key }) => key)).toEqual(["1", "2", "3", "n"]);
});
