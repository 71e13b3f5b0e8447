// Whether a session's last turn failed, and why. The list does not say; the end of the log
// does. It is asked for rows that are looked at, a few at a time, once for each state.
import { path, requestJson } from "../api/request";
import type { Session } from "../api/types";

export interface Failure {
  /** The state that this was found for: the session's last event. */
  head: number;
  /** Undefined when the last turn did not fail. */
  message?: string;
  remedy?: string;
}

// After a turn's end come at most its worker's end, a closing and changed options.
const TAIL = 12;
// The session's beginning, a prompt, the beginning of its turn and its end.
const SHORTEST_WITH_A_TURN = 4;

export function canHaveFailed(session: Session): boolean {
  const usage = session.usage as { turns?: unknown } | null | undefined;
  if (usage?.turns === 0) return false;
  return (session.status === "idle" || session.status === "closed") && session.head >= SHORTEST_WITH_A_TURN;
}

export async function readFailure(session: Session): Promise<Failure> {
  const { items } = await requestJson<{ items: { data?: unknown }[] }>(path`/v1/sessions/${session.id}/transcript`, {
    query: { after: Math.max(0, session.head - TAIL), limit: TAIL },
  });
  return { head: session.head, ...failureIn(items.map((item) => item.data)) };
}

/** The failure that the last turn among these events ended with. */
export function failureIn(events: unknown[]): { message?: string; remedy?: string } {
  for (const event of [...events].reverse()) {
    if (!isObject(event) || event.kind !== "turn_ended" || !isObject(event.payload)) continue;
    if (event.payload.stopReason !== "error") return {};
    const error = isObject(event.payload.error) ? event.payload.error : {};
    return {
      message: typeof error.message === "string" ? error.message : "the turn failed",
      remedy: typeof error.remedy === "string" ? error.remedy : undefined,
    };
  }
  return {};
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
