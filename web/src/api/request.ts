// The HTTP client for the daemon: every request of the page goes through `request`, so that a header,
// a prefix or a way to log in is added in one place.
import { isAbort, Problem, problemOf, unanswered, unreachable } from "./problem";
import { currentPass, doubtPass, forgetPass } from "./pass";

export interface RequestOptions {
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  query?: Record<string, string | number | boolean | undefined | null>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is, as application/octet-stream. */
  bytes?: Blob;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Needs no login: neither a pass nor a proof is sent. */
  isPublic?: boolean;
  /** How long to wait for the answer, in milliseconds. */
  timeout?: number;
}

type Listener = () => void;
const unauthorizedListeners = new Set<Listener>();

/** Calls back whenever the daemon answers that we are not logged in. */
export function onUnauthorized(listener: Listener): () => void {
  unauthorizedListeners.add(listener);
  return () => unauthorizedListeners.delete(listener);
}

// A read is answered at once; a change may have to start an agent, and an upload takes as long as
// its way is slow. An answer that takes longer counts as none.
const TIMEOUT = { read: 30_000, change: 180_000, upload: 900_000 };

/** Asks the daemon; resolves with a success, throws a `Problem` otherwise. */
export function request(path: string, options: RequestOptions = {}): Promise<Response> {
  return ask(path, options, (response) => Promise.resolve(response));
}

/** Asks for JSON. `undefined` when there is nothing to read (204). */
export function requestJson<T>(path: string, options: RequestOptions = {}): Promise<T> {
  return ask(path, options, async (response) => (response.status === 204 ? undefined : await response.json()) as T);
}

/** `read` is part of what must be over in time. */
async function ask<T>(path: string, options: RequestOptions, read: (response: Response) => Promise<T>): Promise<T> {
  const limit = new AbortController();
  const timeout = timeoutOf(options);
  const timer = setTimeout(() => limit.abort(), timeout);
  const signal = options.signal ? AbortSignal.any([options.signal, limit.signal]) : limit.signal;
  try {
    const response = await sendProved(path, options, signal);
    if (response.ok) return await read(response);
    throw await problemOf(response);
  } catch (error) {
    if (error instanceof Problem) {
      if (error.status === 401) for (const listener of unauthorizedListeners) listener();
      throw error;
    }
    if (options.signal?.aborted) throw error;
    // The daemon may have gone, and another server may answer next.
    doubtPass();
    if (limit.signal.aborted) throw unanswered(timeout);
    if (isAbort(error)) throw error;
    throw unreachable();
  } finally {
    clearTimeout(timer);
  }
}

/** Sends with a pass; one that is not known any more is replaced by another, once. */
async function sendProved(path: string, options: RequestOptions, signal: AbortSignal): Promise<Response> {
  const current = options.isPublic ? undefined : currentPass();
  const pass = current instanceof Promise ? await current : current;
  if (signal.aborted) throw new DOMException("", "AbortError");
  const response = await send(path, options, signal, pass);
  if (response.status !== 401 || !pass) return response;
  const { code } = await problemOf(response.clone());
  if (code !== "login-unproved" && code !== "page-moved") return response;
  forgetPass(pass);
  return await send(path, options, signal, await currentPass());
}

function send(path: string, options: RequestOptions, signal: AbortSignal, pass: string | undefined): Promise<Response> {
  const headers = new Headers(options.headers);
  if (pass) headers.set("X-Switchyard-Page", pass);
  let body: BodyInit | undefined;
  if (options.json !== undefined) {
    headers.set("Content-Type", "application/json");
    body = JSON.stringify(options.json);
  } else if (options.bytes) {
    headers.set("Content-Type", "application/octet-stream");
    body = options.bytes;
  }
  return fetch(path + queryOf(options.query), {
    method: options.method ?? "GET",
    headers,
    body,
    signal,
    credentials: "same-origin",
    cache: "no-store",
    redirect: "error",
  });
}

function timeoutOf({ timeout, method, bytes }: RequestOptions): number {
  if (timeout !== undefined) return timeout;
  if (bytes) return TIMEOUT.upload;
  return method === undefined || method === "GET" ? TIMEOUT.read : TIMEOUT.change;
}

/** A path with its parts escaped: ``path`/v1/sessions/${id}` ``. */
export function path(strings: TemplateStringsArray, ...parts: string[]): string {
  return strings.reduce((all, text, i) => all + text + (i < parts.length ? encodeURIComponent(parts[i] ?? "") : ""), "");
}

/** `?a=b`, or nothing. */
export function queryOf(query: RequestOptions["query"]): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "") params.set(name, String(value));
  }
  const text = params.toString();
  return text ? `?${text}` : "";
}
