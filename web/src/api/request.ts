// The one way to the daemon: every request of the page goes through `request`, so that a header, a
// prefix or a way to log in is added in one place.
import { isAbort, Problem, problemOf, unanswered, unreachable } from "./problem";
import { currentPass, doubtPass, forgetPass } from "./pass";

export interface Asking {
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  query?: Record<string, string | number | boolean | undefined | null>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is, as application/octet-stream. */
  bytes?: Blob;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Needs no login: neither a pass nor a proof is sent. */
  isForAll?: boolean;
  /** How long to wait for the answer, in milliseconds. */
  patience?: number;
}

type Listener = () => void;
const shutOut = new Set<Listener>();

/** Calls back whenever the daemon answers that we are not logged in. */
export function onUnauthorized(listener: Listener): () => void {
  shutOut.add(listener);
  return () => shutOut.delete(listener);
}

// A read is answered at once; a change may have to start an agent, and an upload takes as long as
// its way is slow. An answer that takes longer counts as none.
const PATIENCE = { read: 30_000, change: 180_000, upload: 900_000 };

/** Asks the daemon; resolves with a success, throws a `Problem` otherwise. */
export function request(path: string, asking: Asking = {}): Promise<Response> {
  return ask(path, asking, (response) => Promise.resolve(response));
}

/** Asks for JSON. `undefined` when there is nothing to read (204). */
export function requestJson<T>(path: string, asking: Asking = {}): Promise<T> {
  return ask(path, asking, async (response) => (response.status === 204 ? undefined : await response.json()) as T);
}

/** `read` is part of what must be over in time. */
async function ask<T>(path: string, asking: Asking, read: (response: Response) => Promise<T>): Promise<T> {
  const limit = new AbortController();
  const patience = patienceFor(asking);
  const timer = setTimeout(() => limit.abort(), patience);
  const signal = asking.signal ? AbortSignal.any([asking.signal, limit.signal]) : limit.signal;
  try {
    const response = await sendProved(path, asking, signal);
    if (response.ok) return await read(response);
    throw await problemOf(response);
  } catch (error) {
    if (error instanceof Problem) {
      if (error.status === 401) for (const listener of shutOut) listener();
      throw error;
    }
    if (asking.signal?.aborted) throw error;
    // The daemon may have gone, and another server may answer next.
    doubtPass();
    if (limit.signal.aborted) throw unanswered(patience);
    if (isAbort(error)) throw error;
    throw unreachable();
  } finally {
    clearTimeout(timer);
  }
}

/** Sends with a pass; one that is not known any more is replaced by another, once. */
async function sendProved(path: string, asking: Asking, signal: AbortSignal): Promise<Response> {
  const current = asking.isForAll ? undefined : currentPass();
  const pass = current instanceof Promise ? await current : current;
  if (signal.aborted) throw new DOMException("", "AbortError");
  const response = await send(path, asking, signal, pass);
  if (response.status !== 401 || !pass) return response;
  const { code } = await problemOf(response.clone());
  if (code !== "login-unproved" && code !== "page-moved") return response;
  forgetPass(pass);
  return await send(path, asking, signal, await currentPass());
}

function send(path: string, asking: Asking, signal: AbortSignal, pass: string | undefined): Promise<Response> {
  const headers = new Headers(asking.headers);
  if (pass) headers.set("X-Switchyard-Page", pass);
  let body: BodyInit | undefined;
  if (asking.json !== undefined) {
    headers.set("Content-Type", "application/json");
    body = JSON.stringify(asking.json);
  } else if (asking.bytes) {
    headers.set("Content-Type", "application/octet-stream");
    body = asking.bytes;
  }
  return fetch(path + queryOf(asking.query), {
    method: asking.method ?? "GET",
    headers,
    body,
    signal,
    credentials: "same-origin",
    cache: "no-store",
    redirect: "error",
  });
}

function patienceFor({ patience, method, bytes }: Asking): number {
  if (patience !== undefined) return patience;
  if (bytes) return PATIENCE.upload;
  return method === undefined || method === "GET" ? PATIENCE.read : PATIENCE.change;
}

/** A path with its parts escaped: ``path`/v1/sessions/${id}` ``. */
export function path(strings: TemplateStringsArray, ...parts: string[]): string {
  return strings.reduce((all, text, i) => all + text + (i < parts.length ? encodeURIComponent(parts[i] ?? "") : ""), "");
}

/** `?a=b`, or nothing. */
export function queryOf(query: Asking["query"]): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "") params.set(name, String(value));
  }
  const text = params.toString();
  return text ? `?${text}` : "";
}
