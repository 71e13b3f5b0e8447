// The pass that goes with every request, beside the login's cookie.
//
// Browsers send the cookie to whatever listens at this address, also while the daemon is away. So
// nothing more is sent before the server has proved that it knows the secret that this page was
// given at the login. We prove the same, and get a pass that is good until the daemon ends. The
// secret itself is sent to nobody.
//
// By a library and not by the browser's own functions: on plain HTTP, but for this very machine,
// browsers have none.
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { addressAt, isPageName, moveTo } from "./move";
import { asProblem, Problem, problemOf, unreachable } from "./problem";
import { pageSecret } from "./secret";

// How long a proof may take: a daemon has it at hand.
const TIMEOUT = 15_000;

let pass: string | undefined;
// Kept here and nowhere else: a page that somebody else put at this address while the daemon was
// away reads all that is stored, and not what a tab has in its memory. Once there is one, nothing
// less counts as a proof.
let tabSecret: string | undefined;
let proving: Promise<string> | undefined;

/** The pass, at once if there is one; undefined if this browser is not logged in. */
export function currentPass(): string | undefined | Promise<string> {
  // A server at this address can empty the storage; a tab that was logged in keeps its secret.
  const secret = tabSecret ?? pageSecret();
  if (!secret) return undefined;
  if (pass) return pass;
  // One proof for all requests that need it now.
  proving ??= prove(secret).finally(() => (proving = undefined));
  return proving;
}

export interface PassGrant {
  pass: string;
  tabSecret: string;
}

export function keepPass(grant: PassGrant): void {
  pass = grant.pass;
  tabSecret = grant.tabSecret;
}

// A page that was left, frozen or without a network may find another server here when it is back.
for (const kind of ["pagehide", "pageshow", "freeze", "resume", "offline", "online"]) {
  if (typeof addEventListener === "function") addEventListener(kind, doubtPass);
}

/** Drops the pass: the next server has to prove itself. */
export function doubtPass(): void {
  pass = undefined;
}

/**
 * The daemon does not know it any more, or may have gone: whoever is there now has to prove itself
 * before it gets anything. Without one: nobody is logged in here any more.
 */
export function forgetPass(stale?: string): void {
  if (stale === undefined || pass === stale) pass = undefined;
  if (stale === undefined) proving = tabSecret = undefined;
}

interface Challenge {
  nonce: string;
  proof: string;
  movedTo?: string;
}

async function prove(secret: string): Promise<string> {
  const ours = textOf(crypto.getRandomValues(new Uint8Array(32)));
  const by = tabSecret === undefined ? "page" : "tab";
  const challenge = ask<Challenge>("/v1/login/challenge", { nonce: ours, by });
  const { nonce, proof, movedTo } = await challenge.catch((error: unknown) => {
    // That there is no such login, or no such path, is no proof; any server at this address can say
    // it.
    const { status } = asProblem(error);
    if (tabSecret !== undefined && status !== 429 && status >= 400 && status < 500) throw unprovedServer();
    throw error;
  });
  if (movedTo !== undefined) return await moveToNewName(movedTo, { ours, nonce, proof });
  const key = sha256(bytesOf(secret));
  const signed = { at: location.host.toLowerCase(), ours, nonce };
  if (proof !== proofOf(key, "daemon", signed)) throw unprovedServer();
  const grant = await ask<PassGrant>("/v1/login/prove", { nonce, proof: proofOf(key, "page", signed), by });
  // A tab that has a secret keeps it, whatever an answer says.
  keepPass({ pass: grant.pass, tabSecret: tabSecret ?? grant.tabSecret });
  return grant.pass;
}

/**
 * The daemon has given the page another name, since somebody else may have had this one while it
 * was away. A tab that was loaded from a daemon shows that it was, and logs in there by a code that
 * both make and nobody sends.
 */
async function moveToNewName(there: string, { ours, nonce, proof }: { ours: string; nonce: string; proof: string }): Promise<string> {
  if (!isPageName(there)) throw unprovedServer();
  if (tabSecret === undefined) return await moveTo(addressAt(there));
  const key = sha256(bytesOf(tabSecret));
  const signed = { at: `${location.host.toLowerCase()}>${there}`, ours, nonce };
  if (proof !== proofOf(key, "daemon", signed)) throw unprovedServer();
  await ask("/v1/login/move", { nonce, proof: proofOf(key, "page", signed) });
  return await moveTo(addressAt(there, proofOf(key, "code", signed)));
}

async function ask<T>(path: string, json: unknown): Promise<T> {
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(json),
    credentials: "same-origin",
    cache: "no-store",
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT),
  }).catch(() => {
    throw unreachable();
  });
  if (!response.ok) throw await problemOf(response);
  return (await response.json().catch(() => ({}))) as T;
}

function proofOf(key: Uint8Array, side: "daemon" | "page" | "code", signed: { at: string; ours: string; nonce: string }): string {
  return textOf(hmac(sha256, key, bytesOf([side, signed.at, signed.ours, signed.nonce].join("\n"))));
}

function unprovedServer(): Problem {
  return new Problem({
    type: "urn:switchyard:page:impostor",
    title: "the server at this address could not prove that it knows this login",
    remedy: "load the page again if you have logged in anew or out; otherwise see what listens at this address",
  });
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Base64url without padding. */
function textOf(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
