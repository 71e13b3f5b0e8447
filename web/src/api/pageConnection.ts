// The page's connection: that of its worst stream. All of them are lost together, and a
// person is notified once.
import { useSyncExternalStore } from "react";
import type { Connection, Phase } from "./connection";

// A stream that has ended is over for a reason of its own, which its view shows.
const BADNESS: Record<Phase, number> = { live: 0, ended: 0, connecting: 1, evicted: 2, reconnecting: 3, offline: 4 };

interface Stream {
  retry: () => void;
}

const all = new Map<Stream, Connection>();
const readers = new Set<() => void>();
let worst: Connection | undefined;

export function noteConnection(stream: Stream, connection: Connection): void {
  all.set(stream, connection);
  look();
}

export function forgetConnection(stream: Stream): void {
  all.delete(stream);
  look();
}

/** Tries again at once with all lost streams. */
export function retryAll(): void {
  for (const stream of all.keys()) stream.retry();
}

/** Undefined where there is no stream. */
export function pageConnection(): Connection | undefined {
  return worst;
}

export function usePageConnection(): Connection | undefined {
  return useSyncExternalStore(subscribe, pageConnection);
}

function look(): void {
  const before = worst;
  worst = undefined;
  for (const each of all.values()) {
    if (worst === undefined || BADNESS[each.phase] > BADNESS[worst.phase]) worst = each;
  }
  if (worst !== before) for (const reader of readers) reader();
}

function subscribe(reader: () => void): () => void {
  readers.add(reader);
  return () => readers.delete(reader);
}
