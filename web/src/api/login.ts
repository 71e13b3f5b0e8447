// Logging in and out: the code of a login link is traded for a cookie that scripts cannot read, and
// the secret that this page proves beside it.
import { askWhoIAm, forgetMe } from "./me";
import { readMovedTab, isPageName, restoreTabState } from "./move";
import { forgetPass, keepPass, type PassGrant } from "./pass";
import { asProblem } from "./problem";
import { request, requestJson } from "./request";
import { forgetPageSecret, keepPageSecret } from "./secret";

// The path that somebody opened when they were sent to log in. The link opens a tab of its own, so
// it must be kept where both tabs see it.
const TARGET = "switchyard.wanted";
/** As long as a login link works; older paths are forgotten. */
const TARGET_LIFETIME = 10 * 60_000;
// The path of this very tab when it moved here from another name.
let movedPath: string | undefined;

/** `fragment` is that of the link, which has more in it for a tab that moved here. */
export async function logIn(code: string, fragment = ""): Promise<void> {
  const options = { method: "POST", json: { code }, isPublic: true } as const;
  const grant = await requestJson<PassGrant & { pageSecret: string }>("/v1/login", options).catch((error: unknown) => {
    // This page was here before the daemon was; a request for its address is redirected to the new
    // one now.
    if (asProblem(error).code === "page-moved") openAnew(code);
    throw error;
  });
  keepPageSecret(grant.pageSecret);
  keepPass(grant);
  const { to, state } = readMovedTab(fragment);
  movedPath = to ?? undefined;
  if (state) restoreTabState(state);
  await askWhoIAm();
}

function openAnew(code: string): void {
  history.replaceState(null, "", `/login#code=${encodeURIComponent(code)}`);
  location.reload();
}

/** Goes to a link that was pasted into a page of another name. */
export function followPastedLink(text: string): boolean {
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

export function rememberTarget(path: string, now = Date.now()): void {
  try {
    if (path !== "/" && !path.startsWith("/login")) localStorage.setItem(TARGET, JSON.stringify({ path, at: now }));
  } catch {
    // Then the login leads to the sessions.
  }
}

/** The path to go to after the login; read once. Only ever a path of this page. */
export function takeTarget(now = Date.now()): string {
  const here = movedPath;
  movedPath = undefined;
  if (here !== undefined) return ownPath(here);
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(TARGET) ?? "null");
    localStorage.removeItem(TARGET);
    if (typeof kept !== "object" || kept === null) return "/";
    const { path, at } = kept as { path?: unknown; at?: unknown };
    if (typeof path !== "string" || typeof at !== "number" || now - at > TARGET_LIFETIME) return "/";
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
