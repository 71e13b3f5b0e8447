// The page's one list of sessions, connected to the daemon.
import { useCallback, useEffect, useMemo, useSyncExternalStore } from "react";
import { useListChanges } from "../api/live";
import { path, requestJson } from "../api/request";
import type { ListChange, Session, SessionPage } from "../api/types";
import { askedFor, keyOf, type Query } from "./query";
import { rowsOf, SessionListStore, type Listing, type State } from "./store";

export const sessions = new SessionListStore({
  page: (query, cursor, limit) => requestJson<SessionPage>("/v1/sessions", { query: { ...askedFor(query), cursor, limit } }),
  one: (id) => requestJson<Session>(path`/v1/sessions/${id}`),
});

/** How often the newest are read again while the page is visible. */
const REFRESH_EVERY = 15_000;

export interface Rows {
  rows: Session[];
  listing: Listing | undefined;
  state: State;
}

export function useSessionList(): State {
  return useSyncExternalStore(sessions.subscribe, sessions.read);
}

/** Keeps the list up to date, whatever view is shown. */
export function useSessionChanges(): void {
  useListChanges(useCallback((change: ListChange | "all") => sessions.take(change), []));
}

/** The sessions of a query, as they change; the query is the same object until it is another one. */
export function useSessions(query: Query): Rows {
  const state = useSessionList();
  const key = keyOf(query);
  const isListed = state.listings.has(key);
  useEffect(() => sessions.open(query), [query, isListed]);
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") void sessions.refresh();
    }, REFRESH_EVERY);
    return () => clearInterval(timer);
  }, []);
  const rows = useMemo(() => rowsOf(state, query), [state, query]);
  return { rows, listing: state.listings.get(key), state };
}
