// The pass that goes with every request, beside the login's cookie.
//
// Browsers send the cookie to whatever listens at this address, also while the daemon is away.
// So nothing more is shown before whoever answers has proved that it knows the secret that this
// page was given when somebody logged in. We prove the same, and get a pass that is good until
// the daemon ends. The secret itself is sent to nobody.
//
// By a library and not by the browser's own functions: on plain HTTP, but for this very machine,
// browsers have none.
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { Problem, problemOf, unreachable } from "./problem";
import { pageSecret } from "./secret";

// Who has a proof to give has it at hand.
const PATIENCE = 15_000;

let pass: string | undefined;
let proving: Promise<string> | undefined;

/** What is to be shown, at once if it is at hand; nothing if this browser is not logged in. */
export function currentPass(): string | undefined | Promise<string> {
  const secret = pageSecret();
  if (!secret) return undefined;
  if (pass) return pass;
  // One for all requests that need it now.
  proving ??= prove(secret).finally(() => (proving = undefined));
  return proving;
}

export function keepPass(given: string): void {
  pass = given;
}

/** The daemon does not know it any more: it is another one. */
export function forgetPass(stale?: string): void {
  if (stale === undefined || pass === stale) pass = undefined;
}

async function prove(secret: string): Promise<string> {
  const key = sha256(bytesOf(secret));
  const ours = textOf(crypto.getRandomValues(new Uint8Array(32)));
  const { nonce, proof } = await ask<{ nonce: string; proof: string }>("/v1/login/challenge", { nonce: ours });
  if (proof !== proofOf(key, "daemon", ours, nonce)) throw impostor();
  const given = await ask<{ pass: string }>("/v1/login/prove", { nonce, proof: proofOf(key, "page", ours, nonce) });
  pass = given.pass;
  return given.pass;
}

async function ask<T>(path: string, json: unknown): Promise<T> {
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(json),
    credentials: "same-origin",
    cache: "no-store",
    redirect: "error",
    signal: AbortSignal.timeout(PATIENCE),
  }).catch(() => {
    throw unreachable();
  });
  if (!response.ok) throw await problemOf(response);
  return (await response.json().catch(() => ({}))) as T;
}

function proofOf(key: Uint8Array, side: "daemon" | "page", ours: string, theirs: string): string {
  return textOf(hmac(sha256, key, bytesOf([side, location.host.toLowerCase(), ours, theirs].join("\n"))));
}

function impostor(): Problem {
  return new Problem({
    type: "urn:switchyard:page:impostor",
    title: "what answers here is not the daemon that you logged in to",
    remedy: "see what listens at this address; start the daemon, then log in by a new link",
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
