// The filter of the list: words, a status, an agent; in the address, so that a view of the list can
// be linked to.
import type { Session, SessionStatus } from "../api/types";

/** A session's status as a person sees it: idle, but its last turn failed. */
export type Standing = SessionStatus | "failed";

export interface Query {
  words: string;
  standing: Standing | "";
  agent: string;
}

export const everything: Query = { words: "", standing: "", agent: "" };

export const STANDINGS: { standing: Standing; label: string }[] = [
  { standing: "requires_action", label: "Waiting for you" },
  { standing: "running", label: "Running" },
  { standing: "idle", label: "Idle" },
  { standing: "failed", label: "Failed" },
  { standing: "closed", label: "Closed" },
];

export function standingOf(session: Session): Standing {
  return failureOf(session) ? "failed" : session.status;
}

/** Why the session's last turn failed, if it did and none has begun since. */
export function failureOf(session: Session): { message: string; remedy?: string | null } | undefined {
  if (session.status !== "idle" && session.status !== "closed") return undefined;
  if (session.lastTurn?.stopReason !== "error") return undefined;
  return session.lastTurn.error ?? { message: "the turn failed" };
}

/** Statuses that are rare enough to be listed with the failed ones, without a filter of their own. */
function isBreakage(standing: string): boolean {
  return standing === "damaged" || standing === "interrupted";
}

/** At least what the daemon matches (words of the title), and also agent, directory and id. */
export function matches(session: Session, query: Query): boolean {
  if (query.agent && session.agent !== query.agent) return false;
  if (query.standing) {
    const standing = standingOf(session);
    const isBroken = query.standing === "failed" && isBreakage(standing);
    if (standing !== query.standing && !isBroken) return false;
  }
  const text = [session.title ?? "", session.cwd, session.agent, session.id].join("\n").toLowerCase();
  return wordsOf(query).every((word) => text.includes(word));
}

/** The one used last comes first, as the daemon lists them. */
export function byActivity(a: Session, b: Session): number {
  return b.updated - a.updated || (a.id < b.id ? 1 : -1);
}

/** Those that wait for a person come before all others. */
export function byUrgency(a: Session, b: Session): number {
  return Number(b.status === "requires_action") - Number(a.status === "requires_action") || byActivity(a, b);
}

/** The query for the daemon. It does not look for failures, and finds words in titles only. */
export function askedFor(query: Query): { q?: string; status?: SessionStatus; agent?: string } {
  const { words, standing, agent } = query;
  return {
    q: words.trim() || undefined,
    status: standing === "" || standing === "failed" ? undefined : standing,
    agent: agent || undefined,
  };
}

export function keyOf(query: Query): string {
  return JSON.stringify([query.words.trim().toLowerCase(), query.standing, query.agent]);
}

export function isEverything(query: Query): boolean {
  return keyOf(query) === keyOf(everything);
}

export function queryFrom(search: string): Query {
  const params = new URLSearchParams(search);
  const standing = params.get("status") ?? "";
  const isKnown = isBreakage(standing) || STANDINGS.some((each) => each.standing === standing);
  return {
    words: params.get("q") ?? "",
    standing: isKnown ? (standing as Standing) : "",
    agent: params.get("agent") ?? "",
  };
}

export function searchOf(query: Query): string {
  const params = new URLSearchParams();
  if (query.words) params.set("q", query.words);
  if (query.standing) params.set("status", query.standing);
  if (query.agent) params.set("agent", query.agent);
  const text = params.toString();
  return text ? `?${text}` : "";
}

function wordsOf(query: Query): string[] {
  return query.words
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
}
