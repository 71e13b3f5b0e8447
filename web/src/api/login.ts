// Logging in and out: the code of a login link is traded for a cookie that scripts cannot read, and
// the secret that this page proves beside it.
import { askWhoIAm, forgetMe } from "./me";
import { arrivedWith, isPageName, unpack } from "./moving";
import { forgetPass, keepPass, type Given } from "./pass";
import { asProblem } from "./problem";
import { request, requestJson } from "./request";
import { forgetPageSecret, keepPageSecret } from "./secret";

// The path that somebody wanted when they were sent to log in. The link opens a tab of its own, so
// it must be kept where both tabs see it.
const WANTED = "switchyard.wanted";
/** As long as a login link works; older paths are forgotten. */
const WANTED_FOR = 10 * 60_000;
// The path of this very tab when it came over from another name.
let landing: string | undefined;

/** `fragment` is that of the link, which has more in it for a tab that came over. */
export async function logIn(code: string, fragment = ""): Promise<void> {
  const asking = { method: "POST", json: { code }, isForAll: true } as const;
  const given = await requestJson<Given & { pageSecret: string }>("/v1/login", asking).catch((error: unknown) => {
    // This page was here before the daemon was; a request for its address is redirected to the new
    // one now.
    if (asProblem(error).code === "page-moved") openAnew(code);
    throw error;
  });
  keepPageSecret(given.pageSecret);
  keepPass(given);
  const { to, belongings } = arrivedWith(fragment);
  landing = to ?? undefined;
  if (belongings) unpack(belongings);
  await askWhoIAm();
}

function openAnew(code: string): void {
  history.replaceState(null, "", `/login#code=${encodeURIComponent(code)}`);
  location.reload();
}

/** Goes to a link that was pasted into a page of another name. */
export function follow(text: string): boolean {
  const link = urlOf(text.trim());
  if (!link || link.host === location.host || !isPageName(link.host)) return false;
  location.assign(link);
  return true;
}

export async function logOut(): Promise<void> {
  await request("/v1/logout", { method: "POST" });
  forgetPageSecret();
  forgetPass();
  forgetMe();
}

/** Whether the address is that of a login link, which has its code behind the `#`. */
export function hasCode(): boolean {
  return new URLSearchParams(location.hash.slice(1)).has("code");
}

/** The code in a pasted text: the link, its end, or the code alone. */
export function codeIn(text: string): string {
  const found = /code=([^&\s]+)/.exec(text);
  return (found?.[1] ?? text).trim();
}

export function rememberWanted(path: string, now = Date.now()): void {
  try {
    if (path !== "/" && !path.startsWith("/login")) localStorage.setItem(WANTED, JSON.stringify({ path, at: now }));
  } catch {
    // Then the login leads to the sessions.
  }
}

/** The path to go to after the login; read once. Only ever a path of this page. */
export function takeWanted(now = Date.now()): string {
  const here = landing;
  landing = undefined;
  if (here !== undefined) return ownPath(here);
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(WANTED) ?? "null");
    localStorage.removeItem(WANTED);
    if (typeof kept !== "object" || kept === null) return "/";
    const { path, at } = kept as { path?: unknown; at?: unknown };
    if (typeof path !== "string" || typeof at !== "number" || now - at > WANTED_FOR) return "/";
    return ownPath(path);
  } catch {
    return "/";
  }
}

/** The path as the browser reads it: it drops tabs and line breaks. */
function ownPath(path: string): string {
  const url = urlOf(path, location.origin);
  if (!path.startsWith("/") || url?.origin !== location.origin) return "/";
  // `/.//host` is a path here, and would be another host there.
  return url.pathname.startsWith("//") ? "/" : url.pathname + url.search;
}

function urlOf(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
