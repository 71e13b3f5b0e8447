// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Connection } from "./connection";
import { followSession } from "./events";
import { onUnauthorized } from "./request";
import type { LogEvent } from "./types";

/** A daemon that answers as it is told, one answer a request. */
class FakeDaemon {
  asked: string[] = [];
  answers: (() => Response | Promise<Response>)[] = [];

  fetch = (url: string, init: RequestInit): Promise<Response> => {
    this.asked.push(url);
    const answer = this.answers.shift();
    // Nothing more to say: the stream stays silent until we leave.
    if (!answer) return new Promise((_, reject) => init.signal?.addEventListener("abort", () => reject(new DOMException("", "AbortError"))));
    return Promise.resolve(answer());
  };
}

const event = (seq: number) => `id: ${seq}-e\ndata: ${JSON.stringify({ seq, time: 0, kind: "x", payload: {} })}\n\n`;
const stream = (text: string) => () => new Response(text, { headers: { "content-type": "text/event-stream" } });
const refusal = (status: number, title: string) => () => new Response(JSON.stringify({ type: "urn:x", title, status }), { status });

let daemon: FakeDaemon;
let close: (() => void) | undefined;

beforeEach(() => {
  daemon = new FakeDaemon();
  vi.stubGlobal("fetch", daemon.fetch);
});

afterEach(() => {
  close?.();
  vi.unstubAllGlobals();
});

function follow() {
  const seen: number[] = [];
  const phases: string[] = [];
  let connection: Connection | undefined;
  const follower = followSession("s/1", {
    onEvents: (events: LogEvent[]) => seen.push(...events.map((each) => each.seq)),
    onReset: () => (seen.length = 0),
    onConnection: (now) => {
      connection = now;
      if (phases.at(-1) !== now.phase) phases.push(now.phase);
    },
  });
  close = () => follower.close();
  return { seen, phases, connection: () => connection };
}

const until = (condition: () => boolean) => vi.waitFor(() => expect(condition()).toBe(true), { timeout: 20_000, interval: 10 });

test("a stream that breaks off is taken up after the last event, and overlaps are dropped", async () => {
  daemon.answers = [stream(event(1) + event(2) + "id: 3-e\ndata: {cut"), refusal(503, "busy"), stream(event(2) + event(3))];
  const { seen, phases } = follow();
  await until(() => seen.length === 3);
  expect(seen).toEqual([1, 2, 3]);
  expect(daemon.asked.map((url) => new URL(url, "http://x").searchParams.get("after"))).toEqual(["0", "2-e", "2-e"]);
  expect(daemon.asked[0]).toContain("/v1/sessions/s%2F1/events");
  expect(phases.slice(0, 3)).toEqual(["live", "reconnecting", "live"]);
});

test("an eviction is said and comes back with our own place", async () => {
  daemon.answers = [stream(event(1) + 'event: client_evicted\ndata: {"resumeAfter":9}\n\n'), stream(event(2))];
  const { seen, phases, connection } = follow();
  await until(() => seen.length === 2);
  expect(phases.slice(0, 3)).toEqual(["live", "evicted", "live"]);
  expect(connection()?.evictions).toBe(1);
  expect(daemon.asked[1]).toContain("after=1-e");
});

test("a resync begins anew on the same stream", async () => {
  daemon.answers = [stream(event(1)), stream('event: state_resync_required\ndata: {"reason":"other_epoch"}\n\n' + event(1) + event(2))];
  const { seen, connection } = follow();
  await until(() => seen.length === 2);
  expect(seen).toEqual([1, 2]);
  expect(connection()?.resyncs).toBe(1);
});

test("a deleted session is over and is not asked for again", async () => {
  daemon.answers = [stream(event(1) + "event: session_deleted\ndata: {}\n\n")];
  const { phases } = follow();
  await until(() => phases.includes("ended"));
  expect(daemon.asked).toHaveLength(1);
});

test("whoever is not logged in is told so, once", async () => {
  const shutOut = vi.fn();
  const forget = onUnauthorized(shutOut);
  daemon.answers = [refusal(401, "no token")];
  const { phases, connection } = follow();
  await until(() => phases.includes("ended"));
  forget();
  expect(shutOut).toHaveBeenCalledOnce();
  expect(connection()?.reason).toBe("no token");
});

test("a daemon that stays away is offline, and the page still comes back", async () => {
  const fail = () => Promise.reject(new TypeError("failed to fetch"));
  daemon.answers = [fail, fail, fail, fail, stream(event(1))];
  const { seen, phases } = follow();
  await until(() => seen.length === 1);
  expect(phases.slice(0, 3)).toEqual(["reconnecting", "offline", "live"]);
});
