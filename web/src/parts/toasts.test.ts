import { describe, expect, it } from "vitest";
import { Problem } from "../api/problem";
import { sentenceOf } from "./toasts";

describe("a problem in a sentence", () => {
  it("is the most exact thing that was said, with when to try again", () => {
    expect(sentenceOf(new Problem({ title: "the queue is full", detail: "16 prompts wait already." }))).toBe("16 prompts wait already.");
    expect(sentenceOf(new Problem({ title: "the queue is full", retry_after: 3 }))).toBe("the queue is full; try again in 3 s.");
    expect(sentenceOf(new Problem({ title: "two\n  lines" }))).toBe("two lines.");
  });
});
