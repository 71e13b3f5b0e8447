// Short messages that come and go: actions that succeeded, and errors.
import { useSyncExternalStore } from "react";
import { asProblem, isAbort, type Problem } from "../api/problem";

export interface Toast {
  id: number;
  tone: "done" | "error";
  text: string;
  /** The remedy. */
  remedy?: string;
  action?: { label: string; run: () => void };
}

// Long enough to be read; an error stays until it is closed, since it asks for something.
const SHOWN_FOR = 5000;
const MAX_SHOWN = 4;

let toasts: readonly Toast[] = [];
let lastId = 0;
const readers = new Set<() => void>();

export function useToasts(): readonly Toast[] {
  return useSyncExternalStore(
    (reader) => {
      readers.add(reader);
      return () => readers.delete(reader);
    },
    () => toasts,
  );
}

export function tellDone(text: string, action?: Toast["action"]): void {
  const id = add({ tone: "done", text, action });
  setTimeout(() => closeToast(id), SHOWN_FOR);
}

/** Shows anything thrown; `what` is what could not be done: "The session was not renamed". */
export function tellProblem(what: string, error: unknown): void {
  if (isAbort(error)) return;
  const problem = asProblem(error);
  // The login page is there already.
  if (problem.status === 401) return;
  add({ tone: "error", text: `${what}: ${sentenceOf(problem)}`, remedy: problem.remedy });
}

export function closeToast(id: number): void {
  set(toasts.filter((toast) => toast.id !== id));
}

/** The most exact message of the daemon, in one sentence. */
export function sentenceOf(problem: Problem): string {
  const said = (problem.detail ?? problem.message).trim().replace(/\s+/g, " ");
  const wait = problem.retryAfter ? `; try again in ${problem.retryAfter} s` : "";
  return said.replace(/[.]$/, "") + wait + ".";
}

function add(toast: Omit<Toast, "id">): number {
  const id = ++lastId;
  // The same error twice is shown once.
  const others = toasts.filter((other) => other.text !== toast.text);
  set([...others, { ...toast, id }].slice(-MAX_SHOWN));
  return id;
}

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const reader of readers) reader();
}
