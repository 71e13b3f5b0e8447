// Errors of requests, in one shape: the daemon's problem+json where it answered, and our own words
// where it did not.
import type { ProblemBody } from "./types";

/** The daemon could not be reached at all; there is no status. */
export const UNREACHABLE = "urn:switchyard:page:unreachable";

export class Problem extends Error {
  readonly type: string;
  readonly status: number;
  readonly detail: string | undefined;
  readonly remedy: string | undefined;
  /** Seconds after which asking again makes sense. */
  readonly retryAfter: number | undefined;

  constructor(body: Partial<ProblemBody> & { title: string }) {
    super(body.title);
    this.name = "Problem";
    this.type = body.type ?? "about:blank";
    this.status = body.status ?? 0;
    this.detail = body.detail ?? undefined;
    this.remedy = body.remedy ?? undefined;
    this.retryAfter = body.retry_after ?? undefined;
  }

  /** The last part of the type: `queue-full`, `already-decided` … */
  get code(): string {
    return this.type.slice(this.type.lastIndexOf(":") + 1);
  }

  get isUnreachable(): boolean {
    return this.type === UNREACHABLE;
  }
}

export function unreachable(): Problem {
  return new Problem({
    type: UNREACHABLE,
    title: "the daemon cannot be reached",
    remedy: "see whether it runs with `switchyard daemon status`",
  });
}

/** A request without an answer; what it asked for may have happened all the same. */
export function unanswered(ms: number): Problem {
  return new Problem({
    type: "urn:switchyard:page:unanswered",
    title: `the daemon has not answered for ${Math.round(ms / 1000)} seconds`,
    remedy: "see whether it happened before trying again",
  });
}

/** Reads a response that is no success; never throws itself. */
export async function problemOf(response: Response): Promise<Problem> {
  const title = response.statusText || `the daemon answered ${response.status}`;
  try {
    const body: unknown = await response.json();
    if (typeof body === "object" && body !== null && "title" in body) {
      return new Problem({ title, status: response.status, ...(body as Partial<ProblemBody>) });
    }
  } catch {
    // Something in between answered, in a format of its own: the status is all there is.
  }
  return new Problem({ title, status: response.status });
}

/** Anything thrown, as a problem that can be shown. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem({ title: error instanceof Error ? error.message : String(error) });
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
