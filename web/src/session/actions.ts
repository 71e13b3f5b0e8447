// The actions in a session, each one request.
import { path, request, requestJson } from "../api/request";
import type { Json } from "../api/json";
import type { PromptReceipt, Attachment, SessionPatch, QuestionDecision, PermissionAnswer, Session } from "../api/types";

/** `prompt` is text, or ACP's content blocks. */
export function sendPrompt(
  session: string,
  prompt: string | Json[],
  attachments: string[],
  clientRequestId: string,
): Promise<PromptReceipt> {
  return requestJson(path`/v1/sessions/${session}/prompt`, { method: "POST", json: { prompt, attachments, clientRequestId } });
}

/** Stops the running turn and drops those that wait; resolves when nothing runs. */
export function cancelTurn(session: string): Promise<Session> {
  return requestJson(path`/v1/sessions/${session}/cancel`, { method: "POST" });
}

export async function dropQueued(session: string, turn: string): Promise<void> {
  await request(path`/v1/sessions/${session}/queue/${turn}`, { method: "DELETE" });
}

export function answerQuestion(session: string, requestId: string, answer: PermissionAnswer): Promise<QuestionDecision> {
  return requestJson(path`/v1/sessions/${session}/permissions/${requestId}`, { method: "POST", json: answer });
}

export function changeSession(session: string, changes: SessionPatch): Promise<Session> {
  return requestJson(path`/v1/sessions/${session}`, { method: "PATCH", json: changes });
}

export function forkSession(session: string, upTo?: number): Promise<Session> {
  return requestJson(path`/v1/sessions/${session}/fork`, { method: "POST", json: upTo === undefined ? {} : { upTo } });
}

export function uploadFile(session: string, file: File, signal?: AbortSignal): Promise<Attachment> {
  return requestJson(path`/v1/sessions/${session}/attachments`, {
    method: "POST",
    query: { name: file.name || "pasted" },
    bytes: file,
    signal,
  });
}

export async function removeFile(session: string, attachment: string): Promise<void> {
  await request(path`/v1/sessions/${session}/attachments/${attachment}`, { method: "DELETE" });
}

/** Files below the session's directory whose path resembles the words. */
export async function findFiles(session: string, words: string, signal?: AbortSignal): Promise<string[]> {
  const { files } = await requestJson<{ files: { path: string }[] }>(path`/v1/sessions/${session}/files`, {
    query: { query: words, limit: 20 },
    signal,
  });
  return files.map((file) => file.path);
}

/** An id for a request, so that sending it again runs it once. */
export function requestName(): string {
  const random = crypto.getRandomValues(new Uint8Array(16));
  return `page-${[...random].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
