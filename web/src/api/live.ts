// What the whole page has of all sessions: the state of the connection, the open questions, and a
// signal when something in the list has changed.
//
// `/v1/events` has no cursors: the stream is opened first, then the lists are read, and read
// again after every reconnect. One store for the page, started once.
import { useEffect, useSyncExternalStore } from "react";
import { Follower, UNCONNECTED, type Connection } from "./connection";
import { requestJson } from "./request";
import type { ListChange, Permission } from "./types";

export interface Live {
  connection: Connection;
  /** Questions that wait for a person, oldest first. */
  questions: Permission[];
}

let live: Live = { connection: UNCONNECTED, questions: [] };
const readers = new Set<() => void>();
const changeListeners = new Set<(change: ListChange | "all") => void>();
let follower: Follower | undefined;

export function useLive(): Live {
  return useSyncExternalStore(subscribe, () => live);
}

/**
 * Calls back for every change in the list of sessions, and with `all` when changes may have
 * been missed and the list must be read again.
 */
export function useListChanges(listener: (change: ListChange | "all") => void): void {
  useEffect(() => {
    changeListeners.add(listener);
    return () => void changeListeners.delete(listener);
  }, [listener]);
}

/** Starts the stream; does nothing if it runs already. */
export function startLive(): void {
  follower ??= new Follower({
    path: "/v1/events",
    query: () => ({}),
    onFrame: ({ event, data }) => {
      if (event === "revoked") return { end: "the login of this browser was revoked" };
      if (event === "session") publish(data as ListChange);
      return undefined;
    },
    onConnection: (connection) => {
      set({ connection });
      // Once for every stream: changes between it and the one before were not sent.
      if (connection.phase === "live") {
        callListeners("all");
        void readQuestions();
      }
    },
  });
}

export function stopLive(): void {
  follower?.close();
  follower = undefined;
  set({ connection: UNCONNECTED, questions: [] });
}

/** Takes a question off the list at once, before the daemon reports that it is decided. */
export function forgetQuestion(requestId: string): void {
  set({ questions: live.questions.filter((question) => question.requestId !== requestId) });
}

function publish(change: ListChange): void {
  callListeners(change);
  if (mayConcern(live.questions, change)) void readQuestions();
}

/**
 * Whether the questions may be others after a change. One frame reports all that changed in a session
 * within a second, under the name of the first: a session that is new and asks already is `created`.
 * So the number counts, whatever the name.
 */
export function mayConcern(known: Pick<Permission, "sessionId">[], { kind, session, pending = 0 }: ListChange): boolean {
  if (kind === "pending" || kind === "deleted" || kind === "status") return true;
  return pending !== known.filter((question) => question.sessionId === session).length;
}

function callListeners(change: ListChange | "all"): void {
  for (const listener of changeListeners) listener(change);
}

let isReading = false;
let readAgain = false;

/** Reads the questions; one request at a time, and one more if something happened meanwhile. */
export async function readQuestions(): Promise<void> {
  if (isReading) {
    readAgain = true;
    return;
  }
  isReading = true;
  try {
    do {
      readAgain = false;
      const { permissions } = await requestJson<{ permissions: Permission[] }>("/v1/permissions");
      set({ questions: permissions.sort((a, b) => a.since - b.since) });
    } while (readAgain);
  } catch {
    // The stream notices too when the daemon is away, and the list is read again after it.
  } finally {
    isReading = false;
  }
}

function set(change: Partial<Live>): void {
  live = { ...live, ...change };
  for (const reader of readers) reader();
}

function subscribe(reader: () => void): () => void {
  readers.add(reader);
  return () => readers.delete(reader);
}
