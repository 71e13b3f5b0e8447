// The search for agents: those found so far, and those that an earlier search found and this one
// has not seen again yet. One for the page; views look at it.
import { useEffect, useSyncExternalStore } from "react";
import { asProblem, type Problem } from "../api/problem";
import { request } from "../api/request";
import { framesOf, type Frame } from "../api/sse";
import { readAgent, type Agent } from "./agent";

export interface Search {
  agents: Agent[];
  /** Ids that an earlier search found and the running one has not come to. */
  unseen: ReadonlySet<string>;
  isLooking: boolean;
  /** Time at which the last search that ended did so. */
  endedAt?: number;
  problem?: Problem;
}

export const nothingYet: Search = { agents: [], unseen: new Set(), isLooking: false };

export function begun(search: Search): Search {
  return { ...search, isLooking: true, problem: undefined, unseen: new Set(search.agents.map((agent) => agent.id)) };
}

/** Applies frames of the daemon's search: an agent takes its place, the end removes those that are gone. */
export function withFrames(search: Search, frames: Frame[], now: number): Search {
  let { agents } = search;
  const unseen = new Set(search.unseen);
  for (const frame of frames) {
    if (frame.event === "done") {
      return { agents: agents.filter((agent) => !unseen.has(agent.id)), unseen: new Set(), isLooking: false, endedAt: now };
    }
    if (frame.event !== "agent") continue;
    const agent = readAgent(parsed(frame.data));
    if (!agent) continue;
    unseen.delete(agent.id);
    const at = agents.findIndex((known) => known.id === agent.id);
    agents = at < 0 ? [...agents, agent] : agents.with(at, agent);
  }
  return { ...search, agents, unseen };
}

export function failed(search: Search, problem: Problem): Search {
  return { ...search, isLooking: false, unseen: new Set(), problem };
}

let current = nothingYet;
const readers = new Set<() => void>();

/** The agents; looks for them when nobody has yet. */
export function useAgents(): Search {
  useEffect(() => {
    if (!current.isLooking && current.endedAt === undefined) void lookForAgents();
  }, []);
  return useSyncExternalStore(subscribe, () => current);
}

export async function lookForAgents(how: "known" | "again" = "known"): Promise<void> {
  if (current.isLooking) return;
  set(begun(current));
  try {
    const response = await request("/v1/agents", {
      query: { stream: 1, refresh: how === "again" ? 1 : undefined },
      headers: { Accept: "text/event-stream" },
    });
    for await (const frames of framesOf(response)) {
      set(withFrames(current, frames, Date.now()));
      if (!current.isLooking) return;
    }
    throw new Error("the search was cut off");
  } catch (error) {
    set(failed(current, asProblem(error)));
  }
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

function set(next: Search): void {
  current = next;
  for (const reader of readers) reader();
}

function subscribe(reader: () => void): () => void {
  readers.add(reader);
  return () => readers.delete(reader);
}
