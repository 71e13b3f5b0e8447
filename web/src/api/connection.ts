// A stream that reconnects by itself: one loop for the session's events and for the list's.
//
// It reports its state and the reason. It never gives up on its own, except where reconnecting
// cannot help: not logged in, not found, deleted, revoked. While the browser keeps the page for the
// Back button, it is closed.
import { asProblem, isAbort, type Problem } from "./problem";
import { readSocket, type Frame } from "./socket";
import { forgetConnection, noteConnection } from "./pageConnection";

export type Phase =
  /** Requested; nothing has arrived yet. */
  | "connecting"
  | "live"
  /** Lost; reconnecting by itself. */
  | "reconnecting"
  /** The browser says that there is no network, or the daemon does not answer. */
  | "offline"
  /** We read too slowly and lost our place; reconnecting by itself. */
  | "evicted"
  /** Over for good; `reason` says why. */
  | "ended";

export interface Connection {
  phase: Phase;
  /** Words for a person. */
  reason?: string;
  /** How often everything had to be read anew because our place in it was lost. */
  resyncs: number;
  /** How often we were too slow and lost our place; nothing is missing once it is live again. */
  evictions: number;
}

export const UNCONNECTED: Connection = { phase: "connecting", resyncs: 0, evictions: 0 };

export interface StreamOptions {
  path: string;
  query: () => Record<string, string | number | undefined>;
  onFrame: (frame: Frame) => StreamSignal | undefined;
  onConnection: (connection: Connection) => void;
}

/** What a frame means for the stream itself. */
export type StreamSignal = { end: string } | { evicted: string } | { resync: string };

// The first attempt follows quickly, since a daemon that restarts is back within a second; later
// ones spare a machine that is really away.
const FIRST_WAIT = 300;
const LONGEST_WAIT = 10_000;
// From this attempt on the phase is offline instead of reconnecting.
const ATTEMPTS_UNTIL_OFFLINE = 4;
const FINAL = [400, 401, 403, 404, 410];

export class Follower {
  #options: StreamOptions;
  #stop = new AbortController();
  #attempt = new AbortController();
  #wake: (() => void) | undefined;
  #isAway = false;
  #isDoubtful = false;
  #connection = UNCONNECTED;

  constructor(options: StreamOptions) {
    this.#options = options;
    addEventListener("online", this.#onOnline);
    addEventListener("offline", this.#onOffline);
    addEventListener("pagehide", this.#onLeave);
    addEventListener("pageshow", this.#onReturn);
    void this.#run();
  }

  close(): void {
    this.#stop.abort();
    forgetConnection(this);
    removeEventListener("online", this.#onOnline);
    removeEventListener("offline", this.#onOffline);
    removeEventListener("pagehide", this.#onLeave);
    removeEventListener("pageshow", this.#onReturn);
  }

  /** Tries again at once. */
  retry(): void {
    if (!this.#isAway) this.#wake?.();
  }

  #onOnline = () => this.retry();
  // The way to the daemon may be gone without any sign of it: it is tried again at once. A daemon
  // on this very machine is still there.
  #onOffline = () => {
    if (this.#connection.phase === "reconnecting") this.#say("offline", NO_NETWORK);
    if (this.#connection.phase !== "live") return;
    this.#isDoubtful = true;
    this.#attempt.abort();
  };
  // A page that is kept with a connection open would come back with a dead one.
  #onLeave = () => {
    this.#isAway = true;
    this.#attempt.abort();
  };
  #onReturn = () => {
    if (!this.#isAway) return;
    this.#isAway = false;
    if (this.#connection.phase !== "ended") this.#say("connecting");
    this.#wake?.();
  };

  #say(phase: Phase, reason?: string): void {
    if (this.#stop.signal.aborted) return;
    this.#connection = { ...this.#connection, phase, reason };
    noteConnection(this, this.#connection);
    this.#options.onConnection(this.#connection);
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      let problem: Problem | undefined;
      try {
        const streamSignal = await this.#once(() => (failures = 0));
        if (streamSignal && "end" in streamSignal) {
          this.#say("ended", streamSignal.end);
          return;
        }
        if (streamSignal && "evicted" in streamSignal) {
          this.#connection = { ...this.#connection, evictions: this.#connection.evictions + 1 };
          this.#say("evicted", streamSignal.evicted);
          failures = 0;
        }
      } catch (error) {
        if (!isAbort(error)) problem = asProblem(error);
      }
      if (this.#stop.signal.aborted) return;
      if (this.#isAway) {
        failures = 0;
        await this.#pause();
        continue;
      }
      if (this.#isDoubtful) {
        this.#isDoubtful = false;
        continue;
      }
      if (problem && FINAL.includes(problem.status)) {
        this.#say("ended", problem.detail ?? problem.message);
        return;
      }
      failures += 1;
      if (this.#connection.phase !== "evicted" || failures > 1) this.#sayLost(failures, problem);
      await this.#pause(waitAfter(failures, problem?.retryAfter));
    }
  }

  #sayLost(failures: number, problem: Problem | undefined): void {
    if (!navigator.onLine) this.#say("offline", NO_NETWORK);
    else if (failures >= ATTEMPTS_UNTIL_OFFLINE) {
      this.#say("offline", problem?.detail ?? problem?.message ?? "the daemon does not answer");
    } else this.#say("reconnecting", problem?.message ?? "the connection was lost");
  }

  async #once(onLive: () => void): Promise<StreamSignal | undefined> {
    this.#attempt = new AbortController();
    let streamSignal: StreamSignal | undefined;
    await readSocket({
      path: this.#options.path,
      query: this.#options.query(),
      signal: AbortSignal.any([this.#stop.signal, this.#attempt.signal]),
      onOpen: () => {
        onLive();
        this.#say("live");
      },
      onFrame: (frame) => {
        const received = this.#options.onFrame(frame);
        if (received && "resync" in received) {
          this.#connection = { ...this.#connection, resyncs: this.#connection.resyncs + 1 };
          this.#say("live", received.resync);
          return false;
        }
        streamSignal = received;
        return received !== undefined;
      },
    });
    return streamSignal;
  }

  /** Waits for a time, or until it is woken; without a time, only until then. */
  #pause(ms?: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        // A wait that is over while the page is away goes on until it is back.
        if (this.#isAway && !this.#stop.signal.aborted) return;
        clearTimeout(timer);
        this.#wake = undefined;
        this.#stop.signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = ms === undefined ? undefined : setTimeout(done, ms);
      this.#wake = done;
      this.#stop.signal.addEventListener("abort", done);
    });
  }
}

const NO_NETWORK = "this device has no network";

function waitAfter(failures: number, retryAfter: number | undefined): number {
  if (retryAfter !== undefined) return Math.min(retryAfter * 1000, 60_000);
  const wait = Math.min(FIRST_WAIT * 2 ** (failures - 1), LONGEST_WAIT);
  // Tabs that lost the same daemon should not all come back in the same moment.
  return wait * (0.75 + Math.random() * 0.5);
}
