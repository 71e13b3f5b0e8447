// Creating a session, and its first prompt. Both have request ids, so that a retry after a lost
// response makes nothing twice.
import { path, requestJson } from "../api/request";
import type { NewSession, Session } from "../api/types";

export interface SessionForm {
  agent: string;
  cwd: string;
  model: string;
  mode: string;
  effort: string;
  permissions: string;
  title: string;
  prompt: string;
}

export const PERMISSIONS = [
  { id: "", name: "The daemon's default" },
  { id: "ask", name: "Ask" },
  { id: "accept-edits", name: "Accept edits in the directory" },
  { id: "auto", name: "Allow everything" },
  { id: "read-only", name: "Read only" },
  { id: "deny-all", name: "Deny everything" },
];

const LAST = "switchyard.new-session";

/** The request's body; fields that were left empty are the agent's to decide. */
export function requestBodyOf(draft: SessionForm): NewSession {
  const said = (text: string) => text.trim() || undefined;
  return {
    agent: draft.agent,
    cwd: directoryOf(draft.cwd),
    model: said(draft.model),
    mode: said(draft.mode),
    effort: said(draft.effort),
    permissions: said(draft.permissions),
    title: said(draft.title),
  };
}

/** The directory as it was typed or chosen, without the slash at its end. */
export function directoryOf(typed: string): string {
  return typed.trim().replace(/(?<=[^/])\/+$/, "");
}

/** The error in a draft, before the daemon is asked. */
export function draftError(draft: SessionForm): string | undefined {
  if (!draft.agent) return "Choose an agent.";
  if (!draft.cwd.trim()) return "Say in which directory the agent works.";
  if (!/^(\/|~(\/|$)|[A-Za-z]:[\\/])/.test(draft.cwd.trim()))
    return "The directory is a whole path, such as /home/me/project, or begins with ~, your home.";
  return undefined;
}

export async function createSession(draft: SessionForm, name: string): Promise<Session> {
  const session = await requestJson<Session>("/v1/sessions", { method: "POST", json: { ...requestBodyOf(draft), clientRequestId: name } });
  rememberChoice(draft);
  return session;
}

export async function firstPrompt(session: Session, prompt: string, name: string): Promise<void> {
  await requestJson(path`/v1/sessions/${session.id}/prompt`, { method: "POST", json: { prompt, clientRequestId: name } });
}

/** Agent and directory of the last session that this browser made. */
export function lastChoice(): { agent?: string; cwd?: string } {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(LAST) ?? "{}");
    const { agent, cwd } = (kept ?? {}) as Record<string, unknown>;
    return { agent: typeof agent === "string" ? agent : undefined, cwd: typeof cwd === "string" ? cwd : undefined };
  } catch {
    return {};
  }
}

function rememberChoice({ agent, cwd }: SessionForm): void {
  try {
    localStorage.setItem(LAST, JSON.stringify({ agent, cwd: directoryOf(cwd) }));
  } catch {
    // It is only a convenience.
  }
}
