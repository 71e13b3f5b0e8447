// The identity of this browser at the daemon, and its role.
import { useSyncExternalStore } from "react";
import { rememberOwnName } from "./people";
import { asProblem, type Problem } from "./problem";
import { requestJson } from "./request";

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
  try {
    const { you } = await requestJson<{ you: { name: string; role: Role } }>("/v1/capabilities");
    rememberOwnName(you.name);
    set({ state: "known", role: you.role });
  } catch (error) {
    const problem = asProblem(error);
    if (problem.status === 401) set({ state: "stranger" });
    else if (me.state !== "known") set({ state: "unknown", problem });
  }
}

/** Notes that this browser is not logged in any more. */
export function forgetMe(): void {
  set({ state: "stranger" });
}

function set(next: Me): void {
  me = next;
  for (const reader of readers) reader();
}

function subscribe(reader: () => void): () => void {
  readers.add(reader);
  return () => readers.delete(reader);
}
