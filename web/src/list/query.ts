// The filter of the list: words, a status, an agent; in the address, so that a view of the list can
// be linked to.
import type { Session, SessionStatus } from "../api/types";

/** A session's status as a person sees it: failed as well if it is idle, but its last turn has failed. */
export type ShownStatus = SessionStatus;

export interface Query {
  words: string;
  status: ShownStatus | "";
  agent: string;
}

export const everything: Query = { words: "", status: "", agent: "" };

export const SHOWN_STATUSES: { status: ShownStatus; label: string }[] = [
  { status: "requires_action", label: "Waiting for you" },
  { status: "running", label: "Running" },
  { status: "idle", label: "Idle" },
  { status: "failed", label: "Failed" },
  { status: "closed", label: "Closed" },
];

export function shownStatusOf(session: Session): ShownStatus {
  return failureOf(session) ? "failed" : session.status;
}

/** Why the session cannot go on, or why its last turn failed if none has begun since. */
export function failureOf(session: Session): { message: string; remedy?: string | null } | undefined {
  if (session.status === "failed") return { message: session.halted ?? "the session could not go on" };
  if (session.status !== "idle" && session.status !== "closed") return undefined;
  if (session.lastTurn?.stopReason !== "error") return undefined;
  return session.lastTurn.error ?? { message: "the turn failed" };
}

/** Statuses that are rare enough to be listed with the failed ones, without a filter of their own. */
function isBreakage(status: string): boolean {
  return status === "damaged" || status === "interrupted";
}

/** At least what the daemon matches (words of the title), and also agent, directory and id. */
export function matches(session: Session, query: Query): boolean {
  if (query.agent && session.agent !== query.agent) return false;
  if (query.status) {
    const status = shownStatusOf(session);
    const isBroken = query.status === "failed" && isBreakage(status);
    if (status !== query.status && !isBroken) return false;
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
  const { words, status, agent } = query;
  return {
    q: words.trim() || undefined,
    status: status === "" || status === "failed" ? undefined : status,
    agent: agent || undefined,
  };
}

export function keyOf(query: Query): string {
  return JSON.stringify([query.words.trim().toLowerCase(), query.status, query.agent]);
}

export function isEverything(query: Query): boolean {
  return keyOf(query) === keyOf(everything);
}

export function queryFrom(search: string): Query {
  const params = new URLSearchParams(search);
  const status = params.get("status") ?? "";
  const isKnown = isBreakage(status) || SHOWN_STATUSES.some((each) => each.status === status);
  return {
    words: params.get("q") ?? "",
    status: isKnown ? (status as ShownStatus) : "",
    agent: params.get("agent") ?? "",
  };
}

export function searchOf(query: Query): string {
  const params = new URLSearchParams();
  if (query.words) params.set("q", query.words);
  if (query.status) params.set("status", query.status);
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
