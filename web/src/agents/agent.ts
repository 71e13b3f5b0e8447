// An agent as the daemon found it, and in which order agents are shown.
//
// The shape comes from the detection and is open in the API's document, so everything but the
// id may be missing.

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
  if (!isObject(value) || typeof value.id !== "string") return undefined;
  const run = isObject(value.run) ? value.run : {};
  const auth = isObject(value.auth) ? value.auth : {};
  return {
    id: value.id,
    name: text(value.name) ?? value.id,
    isUsable: value.isUsable === true,
    path: text(value.path),
    foundBy: text(value.foundBy),
    version: text(value.version),
    auth: { state: text(auth.state) ?? "unknown", by: text(auth.by) },
    models: list(value.models).flatMap(readModel),
    defaultModel: text(value.defaultModel),
    efforts: texts(value.efforts),
    modes: list(value.modes).flatMap(readMode),
    diagnoses: list(value.diagnoses).flatMap(readDiagnosis),
    unfinished: texts(value.unfinished),
    notes: texts(value.notes),
    login: text(value.login),
    install: text(value.install),
    docs: webAddress(value.docs),
    isOwn: value.isOwn === true,
    command: texts(run.argv).join(" ") || undefined,
  };
}

function readModel(value: unknown): AgentModel[] {
  if (!isObject(value) || typeof value.id !== "string") return [];
  return [{ id: value.id, name: text(value.name), description: text(value.description), efforts: texts(value.efforts) }];
}

/** A mode with its name, or the name alone. */
function readMode(value: unknown): { id: string; name?: string }[] {
  if (typeof value === "string") return [{ id: value }];
  return isObject(value) && typeof value.id === "string" ? [{ id: value.id, name: text(value.name) }] : [];
}

function readDiagnosis(value: unknown): Diagnosis[] {
  if (!isObject(value) || typeof value.message !== "string") return [];
  // Some come as one text, with the remedy in a line of its own, as the terminal shows it.
  const [message = "", hint] = value.message.split(/\nhint:\s*/);
  return [{ reason: text(value.reason), message, remedy: text(value.remedy) ?? hint }];
}

/** Only addresses that a browser may open: a definition can be anybody's. */
function webAddress(value: unknown): string | undefined {
  return typeof value === "string" && /^https?:\/\//i.test(value) ? value : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function texts(value: unknown): string[] {
  return list(value).filter((entry): entry is string => typeof entry === "string");
}
