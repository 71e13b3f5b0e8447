// The options to choose from for a new session of an agent: what its detection found, and what a
// session of the same agent has reported. Agents report their modes, and some of them their models,
// only once they run.
import { useEffect, useState } from "react";
import { path, requestJson } from "../api/request";
import type { AgentOptions, SelectableOption, Session } from "../api/types";
import type { Agent } from "./agent";

export interface Choice {
  id: string;
  name: string;
}

export interface Offers {
  models: Choice[];
  modes: Choice[];
  efforts: Choice[];
  defaults: { model?: string };
}

export function offersOf(agent: Agent | undefined, options: AgentOptions | undefined, model: string): Offers {
  const models = agent?.models ?? [];
  const named = models.map(({ id, name }) => ({ id, name: name ?? id }));
  const ownEfforts = models.find((each) => each.id === (model || agent?.defaultModel))?.efforts ?? [];
  const efforts = ownEfforts.length > 0 ? ownEfforts : (agent?.efforts ?? []);
  return {
    models: together(named, valuesOf(options?.model)),
    modes: together(
      (agent?.modes ?? []).map(({ id, name }) => ({ id, name: name ?? id })),
      valuesOf(options?.mode),
    ),
    // The efforts of the chosen model are known better than those of another session's model.
    efforts: efforts.length > 0 ? efforts.map((id) => ({ id, name: id })) : valuesOf(options?.effort),
    defaults: { model: named.find((each) => each.id === agent?.defaultModel)?.name },
  };
}

// Options of sessions that were asked: an agent offers the same to its next one.
const reportedOptions = new Map<string, AgentOptions>();
const MAX_ASKED = 3;

/** The options that the newest sessions of the agent report; one that does not run any more still has those it reported. */
export function useReportedOptions(agent: string, sessions: Session[]): AgentOptions | undefined {
  const [options, setOptions] = useState(() => reportedOptions.get(agent));
  const ids = sessions
    .filter((session) => session.agent === agent && session.status !== "damaged")
    .sort((a, b) => b.updated - a.updated)
    .slice(0, MAX_ASKED)
    .map((session) => session.id)
    .join(" ");
  useEffect(() => {
    setOptions(reportedOptions.get(agent));
    if (reportedOptions.has(agent) || ids === "") return;
    let isOver = false;
    const ask = async () => {
      for (const id of ids.split(" ")) {
        const session = await requestJson<Session>(path`/v1/sessions/${id}`);
        if (!session.options) continue;
        reportedOptions.set(agent, session.options);
        if (!isOver) setOptions(session.options);
        return;
      }
    };
    // Without an answer the values are typed instead of chosen.
    ask().catch(() => undefined);
    return () => {
      isOver = true;
    };
  }, [agent, ids]);
  return options;
}

/** Each once; the first list's names and order win. */
function together(first: Choice[], second: Choice[]): Choice[] {
  return [...first, ...second.filter((choice) => !first.some((known) => known.id === choice.id))];
}

function valuesOf(selectable: SelectableOption | null | undefined): Choice[] {
  return selectable?.values ?? [];
}
