import { describe, expect, it } from "vitest";
import type { Frame } from "../api/sse";
import { Problem } from "../api/problem";
import { inOrder, installOf, readAgent, agentStateOf, type Agent } from "./agent";
import { begun, failed, nothingYet, withFrames } from "./search";

function agent(id: string, more: object = {}): Agent {
  const read = readAgent({ id, isUsable: true, ...more });
  if (!read) throw new Error("no agent");
  return read;
}

const absent = { isUsable: false, diagnoses: [{ reason: "not-on-path", message: "not there", remedy: "install it" }] };
const found = (id: string, more: object = {}): Frame => ({ event: "agent", data: JSON.stringify({ id, isUsable: true, ...more }) });
const done: Frame = { event: "done", data: "{}" };

describe("an agent", () => {
  it("is read from as little as an id, and not from less", () => {
    expect(agent("a")).toMatchObject({ name: "a", models: [], diagnoses: [], auth: { state: "unknown" } });
    expect(readAgent({ name: "nameless" })).toBeUndefined();
    expect(readAgent(null)).toBeUndefined();
  });

  it("gives no address that a click should not open", () => {
    expect(agent("a", { docs: "javascript:alert(1)" }).docs).toBeUndefined();
    expect(agent("a", { docs: "https://a.example" }).docs).toBe("https://a.example");
  });

  it("has its remedy also where the daemon put it into the message", () => {
    const [diagnosis] = agent("a", { diagnoses: [{ message: "no endpoint\nhint: set one" }] }).diagnoses;
    expect(diagnosis).toMatchObject({ message: "no endpoint", remedy: "set one" });
  });

  it("is installed by a command that can be typed as it is", () => {
    expect(installOf(agent("a", { install: "npm i -g a (Node 22 or later)" }))).toEqual({
      command: "npm i -g a",
      note: "Node 22 or later",
    });
    expect(installOf(agent("a", { install: "brew install a, or see the documentation" })).command).toBe("brew install a");
    expect(installOf(agent("a", { install: "curl -fsS https://a.example | bash" })).command).toBe("curl -fsS https://a.example | bash");
    expect(installOf(agent("a", { install: "see the documentation" })).command).toBeUndefined();
  });

  it("has the state that its login and its problems make", () => {
    expect(agentStateOf(agent("a"))).toBe("ready");
    expect(agentStateOf(agent("a", { auth: { state: "missing" } }))).toBe("login");
    expect(agentStateOf(agent("a", absent))).toBe("absent");
    expect(agentStateOf(agent("a", { isUsable: false, path: "/bin/a", diagnoses: [{ reason: "shim-broken", message: "x" }] }))).toBe(
      "unusable",
    );
  });

  it("comes before those that cannot be used", () => {
    const all = [agent("z", absent), agent("m", { isUsable: false }), agent("b"), agent("a")];
    expect(inOrder(all).map((each) => each.id)).toEqual(["a", "b", "m", "z"]);
  });
});

describe("a search", () => {
  it("fills in as agents are found, and ends", () => {
    const half = withFrames(begun(nothingYet), [found("a")], 1);
    expect(half.isLooking).toBe(true);
    expect(half.agents.map((each) => each.id)).toEqual(["a"]);
    const whole = withFrames(half, [found("b"), done], 2);
    expect(whole).toMatchObject({ isLooking: false, endedAt: 2 });
    expect(whole.agents).toHaveLength(2);
  });

  it("keeps what was known until it is seen again, and takes away what is gone", () => {
    const before = withFrames(begun(nothingYet), [found("a", { version: "1.0.0" }), found("b"), done], 1);
    const again = withFrames(begun(before), [found("a", { version: "2.0.0" })], 2);
    expect(again.agents.map((each) => each.id)).toEqual(["a", "b"]);
    expect(again.agents[0]?.version).toBe("2.0.0");
    expect([...again.unseen]).toEqual(["b"]);
    expect(withFrames(again, [done], 3).agents.map((each) => each.id)).toEqual(["a"]);
  });

  it("that fails loses nothing that was known", () => {
    const before = withFrames(begun(nothingYet), [found("a"), done], 1);
    const after = failed(begun(before), new Problem({ title: "away" }));
    expect(after.agents).toHaveLength(1);
    expect(after.isLooking).toBe(false);
  });

  it("passes over frames that it does not understand", () => {
    const search = withFrames(begun(nothingYet), [{ event: "agent", data: "{" }, { event: "news", data: "{}" }, found("a")], 1);
    expect(search.agents).toHaveLength(1);
  });
});
