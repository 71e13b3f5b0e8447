// The cache of sessions: what pages of the list, single sessions and reported changes said of them, in
// whatever order these arrived.
//
// The number of a session's last event only grows, so the state with the higher one is newer.
// A session that was deleted does not come back with a page that was asked for before.
import type { ListChange, Session } from "../api/types";

export interface SessionCache {
  sessions: ReadonlyMap<string, Session>;
  gone: ReadonlySet<string>;
}

export const emptyCache: SessionCache = { sessions: new Map(), gone: new Set() };

// Ids never come back, so forgetting old ones only risks a row that the next read removes.
const MAX_GONE = 1000;

export function withSessions(cache: SessionCache, received: Session[]): SessionCache {
  let sessions: Map<string, Session> | undefined;
  for (const session of received) {
    if (cache.gone.has(session.id)) continue;
    const before = cache.sessions.get(session.id);
    if (before && isOlder(session, before)) continue;
    sessions ??= new Map(cache.sessions);
    sessions.set(session.id, session);
  }
  return sessions ? { ...cache, sessions } : cache;
}

/** Applies a change at once, as far as it says enough. */
export function withChange(cache: SessionCache, change: ListChange, now: number): SessionCache {
  if (change.kind === "deleted") return without(cache, change.session);
  const before = cache.sessions.get(change.session);
  if (!before) return cache;
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
  return { ...cache, sessions: new Map(cache.sessions).set(change.session, after) };
}

export function without(cache: SessionCache, id: string): SessionCache {
  const sessions = new Map(cache.sessions);
  sessions.delete(id);
  const gone = [...cache.gone, id].slice(-MAX_GONE);
  return { sessions, gone: new Set(gone) };
}

/** Keeps only these, and those for whom `isNewer` holds: they changed while these were read. */
export function only(cache: SessionCache, received: Session[], isNewer: (id: string) => boolean): SessionCache {
  const kept = [...cache.sessions].filter(([id]) => isNewer(id));
  return withSessions({ ...cache, sessions: new Map(kept) }, received);
}

/** The directories that were used last, each once. */
export function recentDirectories(cache: SessionCache, agent?: string, limit = 12): string[] {
  const sessions = [...cache.sessions.values()].sort((a, b) => {
    // The agent's own come first: people keep an agent to a project.
    const isOwn = Number(b.agent === agent) - Number(a.agent === agent);
    return isOwn || b.updated - a.updated;
  });
  return [...new Set(sessions.map((session) => session.cwd))].slice(0, limit);
}

function isOlder(session: Session, than: Session): boolean {
  return session.epoch === than.epoch && session.head < than.head;
}
