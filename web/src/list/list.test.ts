import { beforeEach, describe, expect, it, vi } from "vitest";
import { Problem } from "../api/problem";
import type { Session, SessionPage } from "../api/types";
import { emptyCache, recentDirectories, withChange, without, withSessions } from "./sessionCache";
import { byUrgency, everything, matches, queryFrom, searchOf, shownStatusOf, type Query } from "./query";
import { PAGE, REREAD_AFTER, rowsOf, SessionListStore, type Source } from "./store";

function session(id: string, more: Partial<Session> = {}): Session {
  return {
    id,
    agent: "demo",
    cwd: "/src",
    title: id,
    status: "idle",
    created: 0,
    updated: 0,
    head: 4,
    epoch: "e",
    bytes: 0,
    clients: 0,
    ...more,
  };
}

const ids = (sessions: Session[]) => sessions.map((each) => each.id);
const withFilter = (more: Partial<Query>): Query => ({ ...everything, ...more });

describe("a query", () => {
  it("finds words in the title, the directory and the agent, in any order and case", () => {
    const it = session("s", { title: "Fix the LOGIN test", cwd: "/home/me/yard", agent: "codex" });
    expect(matches(it, withFilter({ words: "test login" }))).toBe(true);
    expect(matches(it, withFilter({ words: "codex yard" }))).toBe(true);
    expect(matches(it, withFilter({ words: "login nowhere" }))).toBe(false);
  });

  it("tells failed from idle, and counts damaged as failed", () => {
    const lastTurn = { stopReason: "error", error: { category: "internal", message: "it crashed" } } as const;
    expect(shownStatusOf(session("s", { lastTurn }))).toBe("failed");
    expect(shownStatusOf(session("s", { lastTurn, status: "running" }))).toBe("running");
    expect(shownStatusOf(session("s", { lastTurn: { stopReason: "cancelled" } }))).toBe("idle");
    expect(matches(session("s", { lastTurn }), withFilter({ status: "idle" }))).toBe(false);
    expect(matches(session("s", { lastTurn }), withFilter({ status: "failed" }))).toBe(true);
    expect(matches(session("s", { status: "damaged" }), withFilter({ status: "failed" }))).toBe(true);
    expect(matches(session("s", { status: "interrupted" }), withFilter({ status: "failed" }))).toBe(true);
  });

  it("survives the address", () => {
    const query = withFilter({ words: "a & b", status: "failed", agent: "demo" });
    expect(queryFrom(searchOf(query))).toEqual(query);
    expect(searchOf(everything)).toBe("");
    expect(queryFrom("?status=nonsense")).toEqual(everything);
  });
});

describe("the order", () => {
  it("has those first that wait for a person, then those used last", () => {
    const all = [
      session("old", { updated: 1 }),
      session("asks", { updated: 2, status: "requires_action" }),
      session("new", { updated: 3 }),
      session("asks too", { updated: 4, status: "requires_action" }),
    ];
    expect(ids(all.sort(byUrgency))).toEqual(["asks too", "asks", "new", "old"]);
  });
});

describe("the session cache", () => {
  it("keeps the place of a session that is renamed", () => {
    const cache = withSessions(emptyCache, [session("a", { head: 5, updated: 7 })]);
    const renamed = withChange(cache, { session: "a", kind: "title", seq: 6, title: "New" }, 900).sessions.get("a");
    expect(renamed).toMatchObject({ title: "New", updated: 7 });
    expect(withChange(cache, { session: "a", kind: "status", seq: 6 }, 900).sessions.get("a")?.updated).toBe(900);
  });

  it("is not made older by a page that was asked for before", () => {
    const cache = withSessions(emptyCache, [session("a", { head: 9, status: "running" })]);
    expect(withSessions(cache, [session("a", { head: 5 })]).sessions.get("a")?.status).toBe("running");
    expect(withSessions(cache, [session("a", { head: 5, epoch: "other" })]).sessions.get("a")?.head).toBe(5);
  });

  it("takes changes in at once", () => {
    const cache = withSessions(emptyCache, [session("a")]);
    const after = withChange(cache, { session: "a", kind: "status", status: "running", seq: 5 }, 77).sessions.get("a");
    expect(after).toMatchObject({ status: "running", head: 5, updated: 77, title: "a" });
    expect(withChange(cache, { session: "a", kind: "title", title: null }, 77).sessions.get("a")?.title).toBeNull();
    expect(withChange(cache, { session: "b", kind: "status", status: "idle" }, 77)).toBe(cache);
  });

  it("does not bring a deleted session back", () => {
    const cache = without(withSessions(emptyCache, [session("a")]), "a");
    expect(withSessions(cache, [session("a", { head: 99 })]).sessions.size).toBe(0);
  });

  it("offers directories once each, those of the agent first", () => {
    const cache = withSessions(emptyCache, [
      session("a", { cwd: "/old", updated: 1 }),
      session("b", { cwd: "/new", updated: 9 }),
      session("c", { cwd: "/old", updated: 5 }),
      session("d", { cwd: "/other", updated: 2, agent: "codex" }),
    ]);
    expect(recentDirectories(cache)).toEqual(["/new", "/old", "/other"]);
    expect(recentDirectories(cache, "codex")[0]).toBe("/other");
  });
});

describe("the store", () => {
  let all: Session[];
  const source = {
    page: vi.fn<Source["page"]>(),
    one: vi.fn<Source["one"]>(),
  };
  let store: SessionListStore;

  beforeEach(() => {
    vi.useFakeTimers();
    all = Array.from({ length: 250 }, (_, i) => session(`s${i}`, { updated: 1000 - i }));
    source.page.mockReset().mockImplementation(async (query, cursor, limit): Promise<SessionPage> => {
      const from = cursor === undefined ? 0 : Number(cursor.split(".")[1]);
      const found = all.filter((each) => matches(each, query)).slice(from, from + limit);
      const more = from + limit < all.length;
      return { sessions: found, nextCursor: more ? `${found.at(-1)?.updated}.${from + limit}` : undefined };
    });
    source.one.mockReset().mockImplementation(async (id) => {
      const found = all.find((each) => each.id === id);
      if (!found) throw new Problem({ title: "gone", status: 404 });
      return found;
    });
    store = new SessionListStore(source);
  });

  it("reads page after page, and each once", async () => {
    store.open(everything);
    store.open(everything);
    await vi.waitFor(() => expect(rowsOf(store.state, everything)).toHaveLength(PAGE));
    await store.more(everything);
    await store.more(everything);
    await store.more(everything);
    expect(ids(rowsOf(store.state, everything))).toEqual(ids(all));
    expect(source.page).toHaveBeenCalledTimes(3);
  });

  it("shows nothing below what was read without gaps", async () => {
    const far = withFilter({ words: "s249" });
    await store.more(far);
    expect(ids(rowsOf(store.state, far))).toEqual(["s249"]);
    await store.more(everything);
    expect(ids(rowsOf(store.state, everything))).not.toContain("s249");
  });

  it("moves a session up when it changes, and reads it once for many changes", async () => {
    await store.more(everything);
    all[50] = session("s50", { updated: 5000, head: 6, status: "running" });
    store.take({ session: "s50", kind: "status", status: "running", seq: 5 }, 4000);
    store.take({ session: "s50", kind: "title", title: "New name", seq: 6 }, 4000);
    expect(rowsOf(store.state, everything)[0]).toMatchObject({ id: "s50", title: "New name", status: "running" });
    await vi.advanceTimersByTimeAsync(REREAD_AFTER);
    expect(source.one).toHaveBeenCalledTimes(1);
    expect(rowsOf(store.state, everything)[0]?.updated).toBe(5000);
  });

  it("learns of new sessions, and forgets deleted ones", async () => {
    await store.more(everything);
    all.unshift(session("new", { updated: 9000 }));
    store.take({ session: "new", kind: "created", seq: 1 });
    await vi.advanceTimersByTimeAsync(REREAD_AFTER);
    expect(rowsOf(store.state, everything)[0]?.id).toBe("new");
    store.take({ session: "new", kind: "deleted" });
    expect(rowsOf(store.state, everything)[0]?.id).toBe("s0");
  });

  it("drops what was deleted while the connection was lost, and keeps what came meanwhile", async () => {
    store.open(everything);
    await vi.advanceTimersByTimeAsync(0);
    all.splice(0, 1);
    let answer: (page: SessionPage) => void = () => undefined;
    source.page.mockImplementationOnce(() => new Promise((resolve) => (answer = resolve)));
    store.take("all");
    store.put(session("made", { updated: 9000 }));
    answer({ sessions: all.slice(0, PAGE), nextCursor: "1.100" });
    await vi.advanceTimersByTimeAsync(0);
    expect(ids(rowsOf(store.state, everything)).slice(0, 2)).toEqual(["made", "s1"]);
  });

  it("says what went wrong and tries again when asked", async () => {
    source.page.mockRejectedValueOnce(new Problem({ title: "away" }));
    await store.more(everything);
    expect(store.state.listings.values().next().value?.problem?.message).toBe("away");
  });
});
