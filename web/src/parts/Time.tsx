// Times as how long ago they were; the exact time on hover.
import { useSyncExternalStore } from "react";

const relative = new Intl.RelativeTimeFormat(undefined, { style: "short", numeric: "auto" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function Ago({ time }: { time: number }) {
  const now = useNow();
  return (
    <time dateTime={new Date(time).toISOString()} title={exact.format(time)}>
      {ago(time, now)}
    </time>
  );
}

export function ago(time: number, now: number): string {
  const seconds = Math.round((time - now) / 1000);
  if (seconds > -45) return "now";
  if (seconds > -45 * 60) return relative.format(Math.round(seconds / 60), "minute");
  if (seconds > -22 * 3600) return relative.format(Math.round(seconds / 3600), "hour");
  if (seconds > -26 * 86400) return relative.format(Math.round(seconds / 86400), "day");
  return new Intl.DateTimeFormat(undefined, { dateStyle: "medium" }).format(time);
}

/** `850 ms`, `4.2 s`, `3 min 5 s`. */
export function duration(ms: number): string {
  // Rounded before the unit is chosen: there is no `60 s`.
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// One clock for all of them: it ticks only while it is used.
let now = Date.now();
const readers = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;

export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

function subscribe(reader: () => void): () => void {
  readers.add(reader);
  // Without readers the clock stood still.
  if (!ticking) now = Date.now();
  ticking ??= setInterval(() => {
    now = Date.now();
    for (const each of readers) each();
  }, 20_000);
  return () => {
    readers.delete(reader);
    if (readers.size > 0) return;
    clearInterval(ticking);
    ticking = undefined;
  };
}
