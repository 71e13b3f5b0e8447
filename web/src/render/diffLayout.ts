// The layout of diffs, the same for all of them; kept in this browser.
import { useSyncExternalStore } from "react";

export type DiffLayout = "unified" | "split";
const KEY = "switchyard.diff";
const readers = new Set<() => void>();
// On a phone two columns are too narrow to read.
const narrow = typeof matchMedia === "function" ? matchMedia("(max-width: 720px)") : undefined;

let chosen: DiffLayout = read();

export function useDiffLayout(): [DiffLayout, (layout: DiffLayout) => void] {
  const layout = useSyncExternalStore(subscribe, () => (narrow?.matches ? "unified" : chosen));
  return [layout, choose];
}

function choose(layout: DiffLayout): void {
  chosen = layout;
  try {
    localStorage.setItem(KEY, layout);
  } catch {
    // Then it is kept until the page is left.
  }
  for (const reader of readers) reader();
}

function read(): DiffLayout {
  try {
    return localStorage.getItem(KEY) === "split" ? "split" : "unified";
  } catch {
    return "unified";
  }
}

function subscribe(reader: () => void): () => void {
  readers.add(reader);
  narrow?.addEventListener("change", reader);
  return () => {
    readers.delete(reader);
    narrow?.removeEventListener("change", reader);
  };
}
