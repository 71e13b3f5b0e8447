// The one door to the daemon: every request of the page goes through `request`, so that a
// header, a prefix or a way to log in is added in one place.
import { problemOf, unreachable, isAbort } from "./problem";
import { pageSecret } from "./secret";

export interface Asking {
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  query?: Record<string, string | number | boolean | undefined | null>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is, as application/octet-stream. */
  bytes?: Blob;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

type Listener = () => void;
const shutOut = new Set<Listener>();

/** Calls back whenever the daemon says that we are not logged in. */
export function onUnauthorized(listener: Listener): () => void {
  shutOut.add(listener);
  return () => shutOut.delete(listener);
}

/** Asks the daemon; resolves with a success, throws a `Problem` otherwise. */
export async function request(path: string, asking: Asking = {}): Promise<Response> {
  const headers = new Headers(asking.headers);
  const secret = pageSecret();
  if (secret) headers.set("X-Switchyard-Page", secret);
  let body: BodyInit | undefined;
  if (asking.json !== undefined) {
    headers.set("Content-Type", "application/json");
    body = JSON.stringify(asking.json);
  } else if (asking.bytes) {
    headers.set("Content-Type", "application/octet-stream");
    body = asking.bytes;
  }
  let response: Response;
  try {
    response = await fetch(path + queryOf(asking.query), {
      method: asking.method ?? "GET",
      headers,
      body,
      signal: asking.signal,
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
    });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw unreachable();
  }
  if (response.ok) return response;
  if (response.status === 401) for (const listener of shutOut) listener();
  throw await problemOf(response);
}

/** Asks for JSON. `undefined` when there is nothing to read (204). */
export async function requestJson<T>(path: string, asking?: Asking): Promise<T> {
  const response = await request(path, asking);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

/** A path with its parts escaped: ``path`/v1/sessions/${id}` ``. */
export function path(strings: TemplateStringsArray, ...parts: string[]): string {
  return strings.reduce((all, text, i) => all + text + (i < parts.length ? encodeURIComponent(parts[i] ?? "") : ""), "");
}

function queryOf(query: Asking["query"]): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "") params.set(name, String(value));
  }
  const text = params.toString();
  return text ? `?${text}` : "";
}
