// Who this browser is to the daemon, and what it may do.
//
// The API has no way to ask for one's own role. So we look at what is refused: listing tokens
// is for admins, and a session without a directory is refused to observers for their role and
// to everybody else for its body. Neither question changes anything.
import { useSyncExternalStore } from "react";
import { asProblem, type Problem } from "./problem";
import { request } from "./request";

export type Role = "observer" | "operator" | "admin";

export type Me =
  | { state: "asking" }
  | { state: "stranger" }
  /** The daemon did not answer; nobody knows yet. */
  | { state: "unknown"; problem: Problem }
  | { state: "known"; role: Role };

const RANK: Record<Role, number> = { observer: 0, operator: 1, admin: 2 };

let me: Me = { state: "asking" };
const readers = new Set<() => void>();

export function useMe(): Me {
  return useSyncExternalStore(subscribe, () => me);
}

/** Whether a button that needs `role` should be there. */
export function useMay(role: Role): boolean {
  return may(useMe(), role);
}

export function may(who: Me, role: Role): boolean {
  return who.state === "known" && RANK[who.role] >= RANK[role];
}

export async function askWhoIAm(): Promise<void> {
  if (me.state !== "known") set({ state: "asking" });
  try {
    set({ state: "known", role: await findRole() });
  } catch (error) {
    const problem = asProblem(error);
    if (problem.status === 401) set({ state: "stranger" });
    else if (me.state !== "known") set({ state: "unknown", problem });
  }
}

/** Nobody is logged in here any more. */
export function forgetMe(): void {
  set({ state: "stranger" });
}

async function findRole(): Promise<Role> {
  if (!(await isRefused("/v1/tokens"))) return "admin";
  return (await isRefused("/v1/sessions", {})) ? "observer" : "operator";
}

async function isRefused(path: string, json?: object): Promise<boolean> {
  try {
    await request(path, json ? { method: "POST", json } : {});
    return false;
  } catch (error) {
    const problem = asProblem(error);
    if (problem.status === 403) return true;
    if (problem.status === 400) return false;
    throw error;
  }
}

function set(next: Me): void {
  me = next;
  for (const reader of readers) reader();
}

function subscribe(reader: () => void): () => void {
  readers.add(reader);
  return () => readers.delete(reader);
}
