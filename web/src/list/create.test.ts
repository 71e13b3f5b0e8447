import { describe, expect, it } from "vitest";
import { readAgent } from "../agents/agent";
import { offersOf } from "../agents/offers";
import { fileName } from "./actions";
import { usageOf } from "./usage";
import { draftError, requestBodyOf, type SessionForm } from "./create";

const draft: SessionForm = { agent: "demo", cwd: " /src ", model: "", mode: "", effort: "high", permissions: "", title: " ", prompt: "hi" };

describe("a new session", () => {
  it("asks for what was chosen and leaves the rest to the agent", () => {
    expect(JSON.parse(JSON.stringify(requestBodyOf(draft)))).toEqual({ agent: "demo", cwd: "/src", effort: "high" });
  });

  it("is objected to before the daemon is asked", () => {
    expect(draftError(draft)).toBeUndefined();
    expect(draftError({ ...draft, cwd: "" })).toMatch(/directory/);
    expect(draftError({ ...draft, cwd: "src" })).toMatch(/whole path/);
    expect(draftError({ ...draft, agent: "" })).toMatch(/agent/);
    for (const cwd of ["~", "~/src", "~/"]) expect(draftError({ ...draft, cwd })).toBeUndefined();
    expect(draftError({ ...draft, cwd: "~other/src" })).toMatch(/whole path/);
  });

  it("works in the directory itself, however it was reached", () => {
    expect(["/src/", "~/", "/", " /a/b// "].map((cwd) => requestBodyOf({ ...draft, cwd }).cwd)).toEqual(["/src", "~", "/", "/a/b"]);
  });

  it("offers what detection found, and what sessions remember, each once", () => {
    const found = readAgent({
      id: "a",
      models: [{ id: "m1", name: "One", efforts: ["low"] }, { id: "m2" }],
      defaultModel: "m1",
      efforts: ["high"],
      modes: ["plan"],
    });
    const options = {
      model: {
        values: [
          { id: "m1", name: "Uno" },
          { id: "x", name: "X" },
        ],
      },
      mode: { values: [{ id: "ask", name: "Ask" }] },
      configOptions: [],
    };
    const offers = offersOf(found, options, "");
    expect(offers.models.map((each) => each.name)).toEqual(["One", "m2", "X"]);
    expect(offers.modes).toEqual([
      { id: "plan", name: "plan" },
      { id: "ask", name: "Ask" },
    ]);
    expect(offers.efforts.map((each) => each.id)).toEqual(["low"]);
    expect(offersOf(found, options, "m2").efforts.map((each) => each.id)).toEqual(["high"]);
    expect(offers.defaults.model).toBe("One");
    expect(offersOf(undefined, options, "").models.map((each) => each.id)).toEqual(["m1", "x"]);
    expect(offersOf(undefined, undefined, "").models).toEqual([]);
  });
});

describe("a session's facts", () => {
  it("cost what all lives of its agent cost together", () => {
    const usage = usageOf({ usage: { costUsd: 1.5, tokens: 12, turns: 2 } } as never);
    expect(usage).toEqual({ costUsd: 1.5, tokens: 12, turns: 2 });
    expect(usageOf({ usage: { costUsd: "x" } } as never).costUsd).toBeUndefined();
    expect(usageOf({} as never).costUsd).toBeUndefined();
  });

  it("make a file name that every system takes", () => {
    expect(fileName({ id: "abcdefghij", title: "Fix: the/..\\ “login” tést" }, "json")).toBe("fix-the-login-tést-abcdefgh.ndjson");
    expect(fileName({ id: "abcdefghij", title: null }, "text")).toBe("abcdefgh.txt");
  });
});
