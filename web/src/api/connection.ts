// A stream that comes back by itself: one loop for the session's events and for the list's.
//
// It says truthfully how it stands, and why. It never gives up on its own, except where coming
// back cannot help: not logged in, not found, deleted, revoked.
import { asProblem, isAbort, type Problem } from "./problem";
import { request } from "./request";
import { framesOf, type Frame } from "./sse";

export type Phase =
  /** Asked, nothing heard yet. */
  | "connecting"
  | "live"
  /** Lost; coming back by itself. */
  | "reconnecting"
  /** The browser says that there is no network, or the daemon does not answer. */
  | "offline"
  /** We read too slowly and lost our place; coming back by itself. */
  | "evicted"
  /** Over for good; `reason` says why. */
  | "ended";

export interface Connection {
  phase: Phase;
  /** For a person. */
  reason?: string;
  /** How often everything had to be read anew because our place in it was lost. */
  resyncs: number;
  /** How often we were too slow and lost our place; nothing is missing once it is live again. */
  evictions: number;
}

export const UNCONNECTED: Connection = { phase: "connecting", resyncs: 0, evictions: 0 };

export interface Following {
  path: string;
  query: () => Record<string, string | number | undefined>;
  onFrames: (frames: Frame[]) => Verdict | void;
  onConnection: (connection: Connection) => void;
  /** Before each attempt; what must be true before the stream is read. */
  onOpen?: () => void;
}

/** What the frames say about the stream itself. */
export type Verdict = { end: string } | { evicted: string } | { resync: string };

// The first attempt follows quickly, since a daemon that restarts is back within a second;
// later ones spare a machine that is really away.
const FIRST_WAIT = 300;
const LONGEST_WAIT = 10_000;
// The daemon breaks its silence every 15 seconds. Twice nothing is a dead connection that no
// one told us about, as after a laptop's sleep.
const SILENCE = 35_000;
// From this attempt on we say offline instead of reconnecting.
const ATTEMPTS_UNTIL_OFFLINE = 4;

export class Follower {
  #following: Following;
  #stop = new AbortController();
  #wake: (() => void) | undefined;
  #connection = UNCONNECTED;

  constructor(following: Following) {
    this.#following = following;
    addEventListener("online", this.#onOnline);
    addEventListener("offline", this.#onOffline);
    void this.#run();
  }

  close(): void {
    this.#stop.abort();
    removeEventListener("online", this.#onOnline);
    removeEventListener("offline", this.#onOffline);
  }

  /** Tries again at once. */
  retry(): void {
    this.#wake?.();
  }

  #onOnline = () => this.#wake?.();
  #onOffline = () => {
    if (this.#connection.phase === "reconnecting") this.#say("offline", "this device has no network");
  };

  #say(phase: Phase, reason?: string): void {
    this.#connection = { ...this.#connection, phase, reason };
    if (!this.#stop.signal.aborted) this.#following.onConnection(this.#connection);
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      let problem: Problem | undefined;
      try {
        const verdict = await this.#once(() => (failures = 0));
        if (verdict && "end" in verdict) return this.#say("ended", verdict.end);
        if (verdict && "evicted" in verdict) {
          this.#connection = { ...this.#connection, evictions: this.#connection.evictions + 1 };
          this.#say("evicted", verdict.evicted);
          failures = 0;
        }
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        // Our own silence alarm aborts too; it counts as a lost connection.
        if (!isAbort(error)) problem = asProblem(error);
      }
      if (this.#stop.signal.aborted) return;
      if (problem && [400, 401, 403, 404, 410].includes(problem.status)) {
        return this.#say("ended", problem.detail ?? problem.message);
      }
      failures += 1;
      if (this.#connection.phase !== "evicted" || failures > 1) this.#sayLost(failures, problem);
      await this.#pause(waitAfter(failures, problem?.retryAfter));
    }
  }

  #sayLost(failures: number, problem: Problem | undefined): void {
    if (!navigator.onLine) this.#say("offline", "this device has no network");
    else if (failures >= ATTEMPTS_UNTIL_OFFLINE) {
      this.#say("offline", problem?.detail ?? problem?.message ?? "the daemon does not answer");
    } else this.#say("reconnecting", problem?.message ?? "the connection was lost");
  }

  async #once(onLive: () => void): Promise<Verdict | undefined> {
    const attempt = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, attempt.signal]);
    let alarm: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(alarm);
      alarm = setTimeout(() => attempt.abort(), SILENCE);
    };
    heard();
    try {
      this.#following.onOpen?.();
      const response = await request(this.#following.path, {
        query: this.#following.query(),
        headers: { Accept: "text/event-stream" },
        signal,
      });
      this.#say("live");
      onLive();
      for await (const frames of framesOf(response, heard)) {
        const verdict = this.#following.onFrames(frames);
        if (!verdict) continue;
        if (!("resync" in verdict)) return verdict;
        this.#connection = { ...this.#connection, resyncs: this.#connection.resyncs + 1 };
        this.#say("live", verdict.resync);
      }
      return undefined;
    } finally {
      clearTimeout(alarm);
      attempt.abort();
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#wake = undefined;
        this.#stop.signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#wake = done;
      this.#stop.signal.addEventListener("abort", done);
    });
  }
}

function waitAfter(failures: number, retryAfter: number | undefined): number {
  if (retryAfter !== undefined) return Math.min(retryAfter * 1000, 60_000);
  const wait = Math.min(FIRST_WAIT * 2 ** (failures - 1), LONGEST_WAIT);
  // Many tabs that lost the same daemon should not come back in the same moment.
  return wait * (0.75 + Math.random() * 0.5);
}
