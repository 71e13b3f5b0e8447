// The list of sessions: pages of it as they are scrolled to, kept up to date by `/v1/events`. One
// for the page.
//
// Rows of a query reach down to its horizon, the last row of its last page; what is known
// below it has gaps and is not shown yet.
import { asProblem, type Problem } from "../api/problem";
import type { ListChange, Session, SessionPage } from "../api/types";
import { emptyCache, only, withChange, without, withSessions, type SessionCache } from "./sessionCache";
import { byUrgency, everything, keyOf, matches, type Query } from "./query";

export interface Source {
  page: (query: Query, cursor: string | undefined, limit: number) => Promise<SessionPage>;
  one: (id: string) => Promise<Session>;
}

/** How far a query has been read. */
export interface Listing {
  query: Query;
  next?: string;
  /** Rows before this time are not all known; -Infinity when all are. */
  horizon: number;
  isLoading: boolean;
  hasBegun: boolean;
  /** How many pages were read. */
  pages: number;
  problem?: Problem;
}

export interface State {
  cache: SessionCache;
  listings: ReadonlyMap<string, Listing>;
}

export const PAGE = 100;
const MAX_PAGE = 500;
/** Earlier queries are worth keeping for going back, not for ever. */
const MAX_LISTINGS = 12;
/** A session that changes all the time is read this often at most. */
export const REREAD_AFTER = 250;

export class SessionListStore {
  state: State = { cache: emptyCache, listings: new Map() };
  #readers = new Set<() => void>();
  #touched = new Map<string, number>();
  #clock = 0;
  #rereading = new Map<string, ReturnType<typeof setTimeout>>();
  #current = everything;

  constructor(private readonly source: Source) {}

  subscribe = (reader: () => void): (() => void) => {
    this.#readers.add(reader);
    return () => this.#readers.delete(reader);
  };

  read = (): State => this.state;

  /** Shows a query: reads its first page if nobody has. */
  open(query: Query): void {
    this.#current = query;
    if (!this.state.listings.get(keyOf(query))?.hasBegun) void this.more(query);
  }

  async more(query: Query): Promise<void> {
    const before = this.#listing(query);
    if (before.isLoading || (before.hasBegun && before.next === undefined)) return;
    this.#setListing({ ...before, isLoading: true, problem: undefined });
    try {
      const page = await this.source.page(query, before.next, PAGE);
      this.#set({ cache: withSessions(this.state.cache, page.sessions) });
      // The list was read again meanwhile: this page continues one that is no more.
      if (this.#listing(query).next !== before.next) return;
      this.#setListing(listed(query, page, before.pages));
    } catch (error) {
      this.#setListing({ ...before, isLoading: false, hasBegun: true, problem: asProblem(error) });
    }
  }

  /** Reads all that is shown again: changes may have been missed. */
  async rereadAll(): Promise<void> {
    const query = this.#current;
    const began = ++this.#clock;
    const n = rowsOf(this.state, query).length;
    const before = this.#listing(query);
    this.#setListing({ ...before, isLoading: true });
    try {
      const page = await this.source.page(query, undefined, Math.min(MAX_PAGE, Math.max(PAGE, n)));
      const isNewer = (id: string) => (this.#touched.get(id) ?? 0) > began;
      this.#set({ cache: only(this.state.cache, page.sessions, isNewer) });
      // Other queries are read anew when they are shown again.
      this.#set({ listings: new Map() });
      this.#setListing(listed(query, page, 0));
      for (const [id, at] of this.#touched) if (at <= began) this.#touched.delete(id);
    } catch (error) {
      this.#setListing({ ...before, isLoading: false, hasBegun: true, problem: asProblem(error) });
    }
  }

  /** Reads the newest once more: a turn that is over within a second is not reported. */
  async refresh(): Promise<void> {
    try {
      const page = await this.source.page(this.#current, undefined, 50);
      this.#set({ cache: withSessions(this.state.cache, page.sessions) });
    } catch {
      // The connection's state shows it.
    }
  }

  take(change: ListChange | "all", now = Date.now()): void {
    if (change === "all") {
      // Before the first read, nothing can be old.
      if (this.state.listings.size > 0) void this.rereadAll();
      return;
    }
    this.#set({ cache: withChange(this.state.cache, change, now) });
    this.#touched.set(change.session, ++this.#clock);
    if (change.kind === "deleted") return;
    if (this.#rereading.has(change.session)) return;
    this.#rereading.set(
      change.session,
      setTimeout(() => void this.reread(change.session), REREAD_AFTER),
    );
  }

  async reread(id: string): Promise<void> {
    this.#rereading.delete(id);
    try {
      const session = await this.source.one(id);
      this.put(session);
    } catch (error) {
      if (asProblem(error).status === 404) this.remove(id);
    }
  }

  /** Takes a session as the daemon just sent it. */
  put(session: Session): void {
    this.#touched.set(session.id, ++this.#clock);
    this.#set({ cache: withSessions(this.state.cache, [session]) });
  }

  remove(id: string): void {
    this.#set({ cache: without(this.state.cache, id) });
  }

  #listing(query: Query): Listing {
    return this.state.listings.get(keyOf(query)) ?? { query, horizon: Infinity, isLoading: false, hasBegun: false, pages: 0 };
  }

  #setListing(listing: Listing): void {
    const key = keyOf(listing.query);
    const others = [...this.state.listings].filter(([each]) => each !== key);
    this.#set({ listings: new Map([...others.slice(1 - MAX_LISTINGS), [key, listing]]) });
  }

  #set(change: Partial<State>): void {
    this.state = { ...this.state, ...change };
    for (const reader of this.#readers) reader();
  }
}

/** The rows of a query, in order, as far down as all of them are known. */
export function rowsOf(state: State, query: Query): Session[] {
  const horizon = state.listings.get(keyOf(query))?.horizon ?? Infinity;
  return [...state.cache.sessions.values()].filter((session) => session.updated >= horizon && matches(session, query)).sort(byUrgency);
}

function listed(query: Query, page: SessionPage, before: number): Listing {
  const last = page.sessions.at(-1);
  const next = page.nextCursor ?? undefined;
  // A page may be empty and have a next one; its cursor begins with where it ended.
  const end = last?.updated ?? Number.parseInt(next ?? "", 10);
  const horizon = next === undefined || Number.isNaN(end) ? -Infinity : end;
  return { query, next, horizon, isLoading: false, hasBegun: true, pages: before + 1 };
}
