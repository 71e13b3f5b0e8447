// The identity of this browser at the daemon, and its role.
import { useSyncExternalStore } from "react";
import { rememberOwnName } from "./people";
import { asProblem, type Problem } from "./problem";
import { requestJson } from "./request";

export type Role = "observer" | "operator" | "admin";

export type Me =
  | { state: "loading" }
  | { state: "loggedOut" }
  /** The daemon did not answer; nobody knows yet. */
  | { state: "unknown"; problem: Problem }
  | { state: "loggedIn"; role: Role };

const RANK: Record<Role, number> = { observer: 0, operator: 1, admin: 2 };

let me: Me = { state: "loading" };
const readers = new Set<() => void>();

export function useMe(): Me {
  return useSyncExternalStore(subscribe, () => me);
}

/** Whether a button that needs `role` should be there. */
export function useMay(role: Role): boolean {
  return may(useMe(), role);
}

export function may(who: Me, role: Role): boolean {
  return who.state === "loggedIn" && RANK[who.role] >= RANK[role];
}

export async function askWhoIAm(): Promise<void> {
  try {
    const { you } = await requestJson<{ you: { name: string; role: Role } }>("/v1/capabilities");
    rememberOwnName(you.name);
    set({ state: "loggedIn", role: you.role });
  } catch (error) {
    const problem = asProblem(error);
    if (problem.status === 401) set({ state: "loggedOut" });
    else if (me.state !== "loggedIn") set({ state: "unknown", problem });
  }
}

/** Notes that this browser is not logged in any more. */
export function forgetMe(): void {
  set({ state: "loggedOut" });
}

function set(next: Me): void {
  me = next;
  for (const reader of readers) reader();
}

function subscribe(reader: () => void): () => void {
  readers.add(reader);
  return () => readers.delete(reader);
}
