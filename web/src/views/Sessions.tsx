// The list of all sessions: search, filters, rows that change as the sessions do.
import "../style/list.css";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { VList, type VListHandle } from "virtua";
import { useLive } from "../api/live";
import { useMay } from "../api/me";
import type { Permission, Session } from "../api/types";
import { useSessionActions } from "../list/actions";
import { everything, isEverything, queryFrom, searchOf, type Query } from "../list/query";
import { sessions, useSessions } from "../list/sessions";
import { Button } from "../parts/Button";
import { ProblemNotice } from "../parts/Notice";
import { useKeys } from "../parts/keys";
import { useTitle } from "../parts/title";
import { navigate, pathOf, useSearch } from "../router";
import { NewSession } from "./NewSession";
import { SessionRow } from "./SessionsRow";
import { SessionsFilters } from "./SessionsFilters";
import { NoSessions } from "./SessionsEmpty";

// Below this many rows from the end the next page is asked for.
const AHEAD = 20;
// How many pages are read without a click when few sessions match.
const PAGES_UNASKED = 5;

export function SessionsView() {
  const [query, setQuery] = useAddressQuery();
  const { rows, listing } = useSessions(query);
  const { questions } = useLive();
  const waiting = useMemo(() => countBySession(questions), [questions]);
  const mayMake = useMay("operator");
  const [isMaking, setMaking] = useState(false);
  const [chosen, setChosen] = useState<string>();
  const search = useRef<HTMLInputElement>(null);
  const list = useRef<VListHandle>(null);
  const place = useRef<HTMLDivElement>(null);
  const actions = useSessionActions(rows.find((row) => row.id === chosen));
  const hasMore = listing?.next !== undefined;
  useTitle("Sessions");

  const here = rows.findIndex((row) => row.id === chosen);
  const go = (to: number) => {
    const index = Math.min(rows.length - 1, Math.max(0, to));
    const row = rows[index];
    if (!row) return;
    setChosen(row.id);
    list.current?.scrollToIndex(index, { align: "nearest" });
    focusRow(place.current, row.id);
  };
  useKeys([
    { keys: "/", label: "Search", run: () => search.current?.select() },
    ...(mayMake ? [{ keys: "n", label: "New session", run: () => setMaking(true) }] : []),
    { keys: "ArrowDown", label: "Next session", run: () => go(here + 1) },
    { keys: "ArrowUp", label: "Previous session", run: () => go(here - 1) },
    { keys: "j", label: "Next session", run: () => go(here + 1), isSilent: true },
    { keys: "k", label: "Previous session", run: () => go(here - 1), isSilent: true },
    { keys: "Home", label: "First session", run: () => go(0) },
    { keys: "End", label: "Last session", run: () => go(rows.length - 1) },
    { keys: "o", label: "Open the session (also Enter)", run: () => rows[here] && open(rows[here]) },
    ...(mayMake ? [{ keys: "r", label: "Rename the session", run: actions.rename }] : []),
    { keys: "Delete", label: "Delete the session", run: actions.remove },
  ]);

  const look = useCallback(() => {
    const handle = list.current;
    if (!handle) return;
    const last = handle.findItemIndex(handle.scrollOffset + handle.viewportSize);
    if (last + AHEAD >= rows.length) void sessions.more(query);
  }, [rows, query]);
  useEffect(() => {
    const mayGoOn = hasMore && !listing?.isLoading && !listing?.problem && listing.pages < PAGES_UNASKED;
    if (mayGoOn && rows.length < AHEAD) void sessions.more(query);
    const frame = requestAnimationFrame(look);
    return () => cancelAnimationFrame(frame);
  }, [rows, listing, hasMore, query, look]);

  const isFirstLoad = !listing?.hasBegun;
  // Without any session there is nothing to search.
  const isBare = rows.length === 0 && !isFirstLoad && !hasMore && !listing.problem && isEverything(query);
  return (
    <div className="view list-view" data-testid="sessions">
      <header className="view-head">
        <h1>Sessions</h1>
        {mayMake && (
          <Button look="primary" icon="plus" title="New session (n)" onClick={() => setMaking(true)}>
            New session
          </Button>
        )}
      </header>
      {!isBare && <SessionsFilters query={query} onChange={setQuery} search={search} onLeave={() => go(0)} waiting={waiting.size} />}
      {listing?.problem && !listing.problem.isUnreachable && <ProblemNotice problem={listing.problem} />}
      <p className="sr-only" role="status">
        {isFirstLoad
          ? "Reading the sessions"
          : `${rows.length}${hasMore ? " or more" : ""} ${rows.length === 1 && !hasMore ? "session" : "sessions"}`}
      </p>
      {rows.length > 0 ? (
        <div
          ref={place}
          className="session-rows"
          role="list"
          aria-label="Sessions"
          onFocus={(event) => setChosen(idOf(event.target) ?? chosen)}
        >
          <VList ref={list} data={rows} onScroll={look} keepMounted={here < 0 ? undefined : [here]}>
            {(row) => <SessionRow key={row.id} session={row} pending={waiting.get(row.id) ?? 0} isChosen={row.id === chosen} />}
          </VList>
        </div>
      ) : isFirstLoad ? (
        <Skeleton />
      ) : (
        !listing.isLoading && (
          <NoSessions
            isFiltered={!isEverything(query)}
            onClear={() => setQuery(everything)}
            onNew={mayMake ? () => setMaking(true) : undefined}
          />
        )
      )}
      {hasMore && rows.length < AHEAD && !listing?.isLoading && (
        <Button look="quiet" onClick={() => void sessions.more(query)}>
          Look further back
        </Button>
      )}
      {isMaking && <NewSession onClose={() => setMaking(false)} />}
      {actions.dialog}
    </div>
  );
}

function Skeleton() {
  return (
    <div className="session-rows skeleton" aria-hidden="true">
      {Array.from({ length: 8 }, (_, i) => (
        <div key={i} className="session-row" />
      ))}
    </div>
  );
}

/** The query in the address bar: it survives a reload and can be sent to somebody. */
function useAddressQuery(): [Query, (query: Query) => void] {
  const search = useSearch();
  const query = useMemo(() => queryFrom(search), [search]);
  const change = useCallback((next: Query) => navigate(location.pathname + searchOf(next), "replace"), []);
  return [query, change];
}

function countBySession(questions: Permission[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { sessionId } of questions) counts.set(sessionId, (counts.get(sessionId) ?? 0) + 1);
  return counts;
}

function open(session: Session): void {
  navigate(pathOf({ view: "session", id: session.id }));
}

function focusRow(place: HTMLElement | null, id: string): void {
  // Rows out of sight are drawn only after they were scrolled to.
  requestAnimationFrame(() => place?.querySelector<HTMLElement>(`[data-session="${CSS.escape(id)}"] a`)?.focus());
}

function idOf(element: Element): string | undefined {
  return element.closest<HTMLElement>("[data-session]")?.dataset.session;
}
