// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Connection } from "./connection";
import { followSession } from "./events";
import { forgetPass, keepPass } from "./pass";
import { onUnauthorized } from "./request";
import { forgetPageSecret, keepPageSecret } from "./secret";
import { pageConnection } from "./pageConnection";

/** What a socket does after its handshake: it says these words, and ends or stays open. */
interface Answer {
  frames?: unknown[];
  stays?: boolean;
}

/** The answers of a daemon, one a handshake; later ones get none. */
let answers: (Answer | "refused")[];
let sockets: FakeSocket[];
/** What it answers to plain requests. */
let plain: () => Response | Promise<Response>;

class FakeSocket {
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  isClosed = false;
  readonly url: URL;

  constructor(
    url: URL,
    readonly protocols: string[],
  ) {
    this.url = url;
    sockets.push(this);
    queueMicrotask(() => this.#answer(answers.shift() ?? { stays: true }));
  }

  #answer(answer: Answer | "refused"): void {
    if (answer === "refused") return this.onclose?.();
    this.onopen?.();
    const [first, ...others] = answer.frames ?? [];
    if (first) this.say([first]);
    if (others.length > 0) this.say(others);
    if (!answer.stays) this.onclose?.();
  }

  say(frames: unknown[]): void {
    this.onmessage?.({ data: JSON.stringify(frames) });
  }

  close(): void {
    this.isClosed = true;
  }
}

const event = (seq: number) => ({ id: `${seq}-e`, event: "message", data: { seq, time: 0, kind: "x", payload: {} } });
const stream = (...frames: unknown[]): Answer => ({ frames });
const refusal = (status: number, title: string) => () => new Response(JSON.stringify({ type: "urn:x", title, status }), { status });

let close: (() => void) | undefined;

beforeEach(() => {
  answers = [];
  sockets = [];
  plain = () => Promise.reject(new TypeError("failed to fetch"));
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("fetch", () => Promise.resolve(plain()));
});

afterEach(() => {
  close?.();
  forgetPageSecret();
  forgetPass();
  vi.unstubAllGlobals();
});

function follow() {
  const seen: number[] = [];
  const phases: string[] = [];
  let connection: Connection | undefined;
  const follower = followSession("s/1", {
    onEvent: (one) => seen.push(one.seq),
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
const after = () => sockets.map((socket) => socket.url.searchParams.get("after"));

test("a stream that breaks off is taken up after the last event, and overlaps are dropped", async () => {
  plain = refusal(503, "busy");
  answers = [stream(event(1), event(2), "no frame"), "refused", { ...stream(event(2), event(3)), stays: true }];
  const { seen, phases } = follow();
  await until(() => seen.length === 3);
  expect(seen).toEqual([1, 2, 3]);
  expect(after()).toEqual(["0", "2-e", "2-e"]);
  expect(sockets[0]?.url.href).toMatch(/^ws:.*\/v1\/sessions\/s%2F1\/events\?/);
  expect(sockets[0]?.protocols).toEqual(["switchyard.batch.v1"]);
  expect(phases).toEqual(["live", "reconnecting", "live"]);
});

test("a server that is there after a stream broke off gets no pass before it has proved itself", async () => {
  const requests: string[] = [];
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    requests.push(`${path} ${new Headers(init.headers).get("X-Switchyard-Page") ?? ""}`);
    return Promise.resolve(Response.json({ nonce: "n", proof: "none" }));
  });
  keepPageSecret("sy_secret");
  keepPass({ pass: "sy_page", tabSecret: "sy_tab" });
  answers = [stream(event(1))];
  const { connection } = follow();
  await until(() => requests.length > 1);
  expect(sockets.map((socket) => socket.protocols)).toEqual([["switchyard.batch.v1", "switchyard-page.sy_page"]]);
  expect(new Set(requests)).toEqual(new Set(["/v1/login/challenge "]));
  expect(connection()?.reason).toContain("could not prove that it knows this login");
});

test("an eviction is said and comes back with our own place", async () => {
  answers = [stream(event(1), { event: "client_evicted", data: { resumeAfter: "9-e" } }, event(2)), stream(event(2))];
  const { seen, phases, connection } = follow();
  await until(() => seen.length === 2);
  expect(phases.slice(0, 3)).toEqual(["live", "evicted", "live"]);
  expect(connection()?.evictions).toBe(1);
  expect(after()[1]).toBe("1-e");
});

test("a resync begins anew on the same stream", async () => {
  answers = [stream(event(1)), stream({ event: "state_resync_required", data: { reason: "other_epoch" } }, event(1), event(2))];
  const { seen, connection } = follow();
  await until(() => seen.length === 2);
  expect(seen).toEqual([1, 2]);
  expect(connection()?.resyncs).toBe(1);
});

test("a deleted session is over and is not asked for again", async () => {
  answers = [{ frames: [event(1), { event: "session_deleted", data: {} }], stays: true }];
  const { phases } = follow();
  await until(() => phases.includes("ended"));
  expect(sockets).toHaveLength(1);
  expect(sockets[0]?.isClosed).toBe(true);
});

test("listeners are called once when the daemon answers that nobody is logged in", async () => {
  const onLoggedOut = vi.fn();
  const forget = onUnauthorized(onLoggedOut);
  answers = ["refused"];
  plain = refusal(401, "no token");
  const { phases, connection } = follow();
  await until(() => phases.includes("ended"));
  forget();
  expect(onLoggedOut).toHaveBeenCalledOnce();
  expect(connection()?.reason).toBe("no token");
});

test("a daemon that stays away is offline, and the page still comes back", async () => {
  answers = ["refused", "refused", "refused", "refused", { ...stream(event(1)), stays: true }];
  const { seen, phases } = follow();
  await until(() => seen.length === 1);
  expect(phases).toEqual(["reconnecting", "offline", "live"]);
});

test("a stream that does not get through to a daemon that answers is said so", async () => {
  answers = ["refused", "refused", "refused", "refused", "refused", "refused"];
  plain = () => new Response("data: {}\n\n");
  const { connection } = follow();
  await until(() => connection()?.phase === "reconnecting");
  expect(connection()?.reason).toContain("could not be opened");
});

test("a page that is left for another is closed, and goes on from its place when it is back", async () => {
  answers = [
    { ...stream(event(1)), stays: true },
    { ...stream(event(2)), stays: true },
  ];
  const { seen, phases } = follow();
  await until(() => seen.length === 1);
  dispatchEvent(new Event("pagehide"));
  expect(sockets[0]?.isClosed).toBe(true);
  await new Promise((done) => setTimeout(done, 20));
  expect(sockets).toHaveLength(1);
  dispatchEvent(new Event("online"));
  await new Promise((done) => setTimeout(done, 20));
  expect(sockets).toHaveLength(1);

  dispatchEvent(new Event("pageshow"));
  await until(() => seen.length === 2);
  expect(after()).toEqual(["0", "1-e"]);
  expect(phases).toEqual(["live", "connecting", "live"]);
});

test("without a network the daemon is tried at once, and one that is there says nothing of it", async () => {
  answers = [{ ...stream(event(1)), stays: true }, { ...stream(event(2)), stays: true }, "refused", "refused"];
  const { seen, phases, connection } = follow();
  await until(() => seen.length === 1);
  vi.spyOn(navigator, "onLine", "get").mockReturnValue(false);
  dispatchEvent(new Event("offline"));
  await until(() => seen.length === 2);
  expect(phases).toEqual(["live"]);
  dispatchEvent(new Event("offline"));
  await until(() => phases.includes("offline"));
  expect(connection()?.reason).toBe("this device has no network");
  vi.restoreAllMocks();
});

test("the page's connection is that of its worst stream", async () => {
  answers = [{ stays: true }, "refused"];
  const first = follow();
  await until(() => first.phases.includes("live"));
  expect(pageConnection()?.phase).toBe("live");
  const closeFirst = close;
  const second = follow();
  await until(() => second.phases.includes("reconnecting"));
  expect(pageConnection()?.phase).toBe("reconnecting");
  await until(() => second.phases.includes("live"));
  expect(pageConnection()?.phase).toBe("live");
  closeFirst?.();
});
