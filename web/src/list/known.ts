// The sessions as far as the page knows them, from pages of the list, single sessions and reported
// changes, in whatever order these arrive.
//
// The number of a session's last event only grows, so the higher one is the newer knowledge.
// A session that was deleted does not come back with a page that was asked for before.
import type { ListChange, Session } from "../api/types";

export interface Known {
  sessions: ReadonlyMap<string, Session>;
  gone: ReadonlySet<string>;
}

export const nothing: Known = { sessions: new Map(), gone: new Set() };

// Ids never come back, so forgetting old ones only risks a row that the next read removes.
const MAX_GONE = 1000;

export function withSessions(known: Known, told: Session[]): Known {
  let sessions: Map<string, Session> | undefined;
  for (const session of told) {
    if (known.gone.has(session.id)) continue;
    const before = known.sessions.get(session.id);
    if (before && isOlder(session, before)) continue;
    sessions ??= new Map(known.sessions);
    sessions.set(session.id, session);
  }
  return sessions ? { ...known, sessions } : known;
}

/** Applies a change at once, as far as it says enough. */
export function withChange(known: Known, change: ListChange, now: number): Known {
  if (change.kind === "deleted") return without(known, change.session);
  const before = known.sessions.get(change.session);
  if (!before) return known;
  const after: Session = {
    ...before,
    status: change.status ?? before.status,
    title: change.title !== undefined ? change.title : before.title,
    head: Math.max(before.head, change.seq ?? 0),
    // Changes carry no time; they are reported within a second. A new title is no use of the
    // session.
    updated:
      change.kind !== "title" && change.seq !== undefined && change.seq > before.head ? Math.max(before.updated, now) : before.updated,
  };
  return { ...known, sessions: new Map(known.sessions).set(change.session, after) };
}

export function without(known: Known, id: string): Known {
  const sessions = new Map(known.sessions);
  sessions.delete(id);
  const gone = [...known.gone, id].slice(-MAX_GONE);
  return { sessions, gone: new Set(gone) };
}

/** Keeps only these, and those for whom `isNewer` holds: they changed while these were read. */
export function only(known: Known, told: Session[], isNewer: (id: string) => boolean): Known {
  const kept = [...known.sessions].filter(([id]) => isNewer(id));
  return withSessions({ ...known, sessions: new Map(kept) }, told);
}

/** The directories that were used last, each once. */
export function recentDirectories(known: Known, agent?: string, limit = 12): string[] {
  const sessions = [...known.sessions.values()].sort((a, b) => {
    // The agent's own come first: people keep an agent to a project.
    const isOwn = Number(b.agent === agent) - Number(a.agent === agent);
    return isOwn || b.updated - a.updated;
  });
  return [...new Set(sessions.map((session) => session.cwd))].slice(0, limit);
}

function isOlder(session: Session, than: Session): boolean {
  return session.epoch === than.epoch && session.head < than.head;
}
