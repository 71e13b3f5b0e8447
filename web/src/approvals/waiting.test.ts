import { describe, expect, it } from "vitest";
import type { Permission } from "../api/types";
import { chosenAfter, deadline, itemOf, stepFrom } from "./waiting";

const question: Permission = {
  requestId: "q1",
  sessionId: "s1",
  cwd: "/home/me/project",
  agent: "demo",
  kind: "permission",
  title: "Run `ls`",
  options: [{ optionId: "o1", name: "Allow", kind: "allow_once" }],
  request: { toolCall: { toolCallId: "c1", _meta: { switchyard: { limit: "turns" } } } },
  seq: 7,
  since: 1000,
};

describe("a waiting question", () => {
  it("becomes what a conversation shows", () => {
    expect(itemOf(question)).toMatchObject({
      requestId: "q1",
      form: "permission",
      limit: "turns",
      toolCallId: "c1",
      seq: 7,
      isForPerson: true,
    });
    expect(itemOf({ ...question, kind: "elicitation", request: {} }).form).toBe("elicitation");
  });

  it("says when it is rejected", () => {
    expect(deadline(undefined, 0)).toBeUndefined();
    expect(deadline(600_000, 0)).toBe("rejected in 10 min if nobody answers");
    expect(deadline(30_000, 0)).toBe("rejected in about a minute if nobody answers");
    expect(deadline(0, 5)).toBe("is being rejected");
  });
});

describe("the chosen question", () => {
  it("stays while it waits, wherever it moves", () => {
    expect(chosenAfter(["a", "b"], ["n", "b"], "b")).toBe("b");
  });

  it("gives way to the next one when it is answered, at the end to the last", () => {
    expect(chosenAfter(["a", "b", "c"], ["a", "c"], "b")).toBe("c");
    expect(chosenAfter(["a", "b", "c"], ["a", "b"], "c")).toBe("b");
    expect(chosenAfter(["a", "b", "c"], ["c"], "a")).toBe("c");
    expect(chosenAfter(["a"], [], "a")).toBeUndefined();
  });

  it("is the first one at first, and moves by steps within the list", () => {
    expect(chosenAfter([], ["a", "b"], undefined)).toBe("a");
    expect(stepFrom(["a", "b"], "a", 1)).toBe("b");
    expect(stepFrom(["a", "b"], "b", 1)).toBe("b");
    expect(stepFrom(["a", "b"], "a", -1)).toBe("a");
    expect(stepFrom([], undefined, 1)).toBeUndefined();
  });
});
