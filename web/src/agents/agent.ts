// An agent as the daemon found it, and in which order agents are shown.
//
// The shape comes from the detection and is open in the API's document, so everything but the
// id may be missing.
import { list, nonEmpty, object, text } from "../api/json";

export interface AgentModel {
  id: string;
  name?: string;
  description?: string;
  efforts?: string[];
}

export interface Diagnosis {
  reason?: string;
  message: string;
  remedy?: string;
}

export interface Agent {
  id: string;
  name: string;
  isUsable: boolean;
  path?: string;
  foundBy?: string;
  version?: string;
  auth: { state: string; by?: string };
  models: AgentModel[];
  defaultModel?: string;
  efforts: string[];
  modes: { id: string; name?: string }[];
  diagnoses: Diagnosis[];
  unfinished: string[];
  notes: string[];
  login?: string;
  install?: string;
  docs?: string;
  isOwn: boolean;
  /** The program and arguments that run it, as one line. */
  command?: string;
}

/** The state of an agent, as a person wants to know it first. */
export type AgentState = "ready" | "login" | "unusable" | "absent";

export function agentStateOf(agent: Agent): AgentState {
  if (agent.isUsable) return agent.auth.state === "missing" ? "login" : "ready";
  if (agent.diagnoses.some((diagnosis) => diagnosis.reason === "not-on-path") && !agent.path) return "absent";
  if (agent.auth.state === "missing" && agent.path) return "login";
  return "unusable";
}

const ORDER: AgentState[] = ["ready", "login", "unusable", "absent"];

export function inOrder(agents: Agent[]): Agent[] {
  const rank = (agent: Agent) => ORDER.indexOf(agentStateOf(agent));
  return [...agents].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}

/** The command that installs it, without the note that its definition has beside it. */
export function installOf(agent: Agent): { command?: string; note?: string } {
  const whole = agent.install ?? "";
  if (whole === "" || whole.startsWith("see ")) return { note: whole || undefined };
  const [, command = whole, note] = /^(.*?)(?: \(([^()]*)\)|, or (.*))?$/.exec(whole) ?? [];
  return { command, note };
}

/** Reads an agent as the daemon sends it; undefined if it is none. */
export function readAgent(value: unknown): Agent | undefined {
  const agent = object(value);
  const id = text(agent.id);
  if (id === undefined) return undefined;
  const auth = object(agent.auth);
  return {
    id,
    name: nonEmpty(agent.name) ?? id,
    isUsable: agent.isUsable === true,
    path: nonEmpty(agent.path),
    foundBy: nonEmpty(agent.foundBy),
    version: nonEmpty(agent.version),
    auth: { state: nonEmpty(auth.state) ?? "unknown", by: nonEmpty(auth.by) },
    models: list(agent.models).flatMap(readModel),
    defaultModel: nonEmpty(agent.defaultModel),
    efforts: texts(agent.efforts),
    modes: list(agent.modes).flatMap(readMode),
    diagnoses: list(agent.diagnoses).flatMap(readDiagnosis),
    unfinished: texts(agent.unfinished),
    notes: texts(agent.notes),
    login: nonEmpty(agent.login),
    install: nonEmpty(agent.install),
    docs: webAddress(agent.docs),
    isOwn: agent.isOwn === true,
    command: texts(object(agent.run).argv).join(" ") || undefined,
  };
}

function readModel(value: unknown): AgentModel[] {
  const model = object(value);
  const id = text(model.id);
  if (id === undefined) return [];
  return [{ id, name: nonEmpty(model.name), description: nonEmpty(model.description), efforts: texts(model.efforts) }];
}

/** A mode with its name, or the name alone. */
function readMode(value: unknown): { id: string; name?: string }[] {
  if (typeof value === "string") return [{ id: value }];
  const mode = object(value);
  const id = text(mode.id);
  return id === undefined ? [] : [{ id, name: nonEmpty(mode.name) }];
}

function readDiagnosis(value: unknown): Diagnosis[] {
  const diagnosis = object(value);
  const whole = text(diagnosis.message);
  if (whole === undefined) return [];
  // Some come as one text, with the remedy in a line of its own, as the terminal shows it.
  const [message = "", hint] = whole.split(/\nhint:\s*/);
  return [{ reason: nonEmpty(diagnosis.reason), message, remedy: nonEmpty(diagnosis.remedy) ?? hint }];
}

/** Only addresses that a browser may open: a definition can be anybody's. */
function webAddress(value: unknown): string | undefined {
  return typeof value === "string" && /^https?:\/\//i.test(value) ? value : undefined;
}

function texts(value: unknown): string[] {
  return list(value).filter((entry): entry is string => typeof entry === "string");
}
