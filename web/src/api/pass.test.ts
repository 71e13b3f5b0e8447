// @vitest-environment jsdom
import { createHash, createHmac } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { currentPass, forgetPass } from "./pass";
import { asProblem } from "./problem";
import { onUnauthorized, request } from "./request";
import { forgetPageSecret, keepPageSecret } from "./secret";

const SECRET = "sy_secret";

/** A daemon that knows `secret`, and all requests to it. */
class Daemon {
  passes: string[] = [];
  requests: string[] = [];
  isKnown = true;
  /** Where the page is now, and what its tabs know. */
  movedTo?: string;
  tab = "sy_tab";
  codes: string[] = [];
  private by = "page";
  private nonces = ["", ""];

  constructor(private secret: string) {
    vi.stubGlobal("fetch", (path: string, init: RequestInit) => Promise.resolve(this.answer(path, init)));
  }

  private answer(path: string, init: RequestInit): Response {
    const pass = new Headers(init.headers).get("X-Switchyard-Page");
    const body = typeof init.body === "string" ? init.body : "";
    this.requests.push(`${path} ${body} ${pass ?? ""}`);
    const said = (body ? JSON.parse(body) : {}) as Record<string, string>;
    if (!this.isKnown) return problem("unauthorized");
    this.by = said.by ?? this.by;
    switch (path) {
      case "/v1/login/challenge":
        this.nonces = [said.nonce ?? "", `n${this.passes.length}`];
        return Response.json({ nonce: this.nonces[1], proof: this.proof("daemon"), movedTo: this.movedTo });
      case "/v1/login/prove":
        if (said.proof !== this.proof("page") || said.nonce !== this.nonces[1]) return problem("unauthorized");
        this.passes.push(`pass${this.passes.length}`);
        return Response.json({ pass: this.passes.at(-1), tabSecret: this.tab });
      case "/v1/login/move":
        if (said.proof !== this.proof("page") || said.nonce !== this.nonces[1]) return problem("unauthorized");
        this.codes.push(this.proof("code"));
        return new Response(null, { status: 204 });
      default:
        return this.passes.includes(pass ?? "") ? new Response("ok") : problem("login-unproved");
    }
  }

  private proof(side: string): string {
    const key = createHash("sha256")
      .update(this.movedTo || this.by === "tab" ? this.tab : this.secret)
      .digest();
    const at = this.movedTo ? `localhost:3000>${this.movedTo}` : "localhost:3000";
    const text = [side, at, ...this.nonces].join("\n");
    return createHmac("sha256", key).update(text).digest("base64url");
  }
}

const problem = (code: string) => Response.json({ type: `urn:switchyard:problem:${code}`, title: code }, { status: 401 });

beforeEach(() => {
  keepPageSecret(SECRET);
  forgetPass();
});
afterEach(() => {
  forgetPageSecret();
  forgetPass();
  vi.unstubAllGlobals();
});

test("a pass is proved for once, for all that ask at the same time", async () => {
  const daemon = new Daemon(SECRET);
  await Promise.all([request("/v1/a"), request("/v1/b"), request("/v1/c")]);
  expect(daemon.passes).toEqual(["pass0"]);
  expect(daemon.requests.join()).not.toContain(SECRET);
});

test("after a restart of the daemon it is proved for again, once", async () => {
  const first = new Daemon(SECRET);
  await request("/v1/a");
  expect(first.passes).toEqual(["pass0"]);
  const restarted = new Daemon(SECRET);
  await request("/v1/a");
  expect(restarted.passes).toEqual(["pass0"]);
  expect(await currentPass()).toBe("pass0");
});

test("a server that proves nothing gets no pass, and people see why", async () => {
  const other = new Daemon("sy_other");
  const why = await request("/v1/a").catch(asProblem);
  expect(why).toMatchObject({ code: "impostor" });
  expect(other.requests).toHaveLength(1);
  expect(other.requests[0]).toMatch(/^\/v1\/login\/challenge \{"nonce":"[\w-]{43}","by":"page"\} $/);
});

test("who knows only what is stored cannot prove itself to a tab that was let in", async () => {
  new Daemon(SECRET);
  await request("/v1/a");
  const thief = new Daemon(SECRET);
  thief.tab = "sy_guess";
  expect(await request("/v1/secret").catch(asProblem)).toMatchObject({ code: "impostor" });
  expect(thief.passes).toEqual([]);
});

test("a tab that was let in asks for a proof though what is stored was removed", async () => {
  new Daemon(SECRET);
  await request("/v1/a");
  forgetPageSecret();
  forgetPass("pass0");
  const other = new Daemon("sy_other");
  other.tab = "sy_other";
  expect(await request("/v1/secret").catch(asProblem)).toMatchObject({ code: "impostor" });
  expect(other.requests.join()).not.toContain("secret");
});

test.each(["pagehide", "pageshow", "offline", "online", "resume"])("whoever is there after %s has to prove itself", async (kind) => {
  new Daemon(SECRET);
  await request("/v1/a");
  dispatchEvent(new Event(kind));
  const other = new Daemon("sy_other");
  other.tab = "sy_other";
  expect(await request("/v1/secret").catch(asProblem)).toMatchObject({ code: "impostor" });
  expect(other.requests.join()).not.toContain("secret");
});

test.each([400, 401, 403, 404])("a tab that was let in takes a %i of whoever answers for nothing", async (status) => {
  new Daemon(SECRET);
  await request("/v1/a");
  forgetPass("pass0");
  vi.stubGlobal("fetch", () => Promise.resolve(new Response("no such thing", { status })));
  expect(await request("/v1/secret").catch(asProblem)).toMatchObject({ code: "impostor" });
});

test("a login that the daemon does not know any more is over", async () => {
  new Daemon(SECRET).isKnown = false;
  const onLoggedOut = vi.fn();
  const stop = onUnauthorized(onLoggedOut);
  expect(await request("/v1/a").catch(asProblem)).toMatchObject({ status: 401 });
  expect(onLoggedOut).toHaveBeenCalledOnce();
  stop();
});

test("after a request that got no answer nothing is said before a proof", async () => {
  const daemon = new Daemon(SECRET);
  await request("/v1/a");
  const answering = fetch;
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("gone")));
  expect(await request("/v1/b").catch(asProblem)).toMatchObject({ isUnreachable: true });
  vi.stubGlobal("fetch", answering);
  daemon.requests = [];
  await request("/v1/secret");
  expect(daemon.requests[0]).toContain("/v1/login/challenge");
});

test("that a login is over is no proof to a tab that was let in", async () => {
  const daemon = new Daemon(SECRET);
  await request("/v1/a");
  forgetPass("pass0");
  daemon.isKnown = false;
  const onLoggedOut = vi.fn();
  const stop = onUnauthorized(onLoggedOut);
  expect(await request("/v1/a").catch(asProblem)).toMatchObject({ code: "impostor", status: 0 });
  expect(onLoggedOut).not.toHaveBeenCalled();
  daemon.isKnown = true;
  await request("/v1/a");
  stop();
});

test("who is not logged in proves nothing", async () => {
  forgetPageSecret();
  const daemon = new Daemon(SECRET);
  expect(await request("/v1/a").catch(asProblem)).toMatchObject({ code: "login-unproved" });
  expect(daemon.requests).toEqual(["/v1/a  "]);
});

describe("a daemon that has moved the page", () => {
  const THERE = "abcdefghjkmn.localhost:3000";
  const replace = vi.fn<(address: string) => void>();
  beforeEach(() => {
    replace.mockClear();
    sessionStorage.setItem("switchyard.draft.abc", "not sent");
    vi.stubGlobal("location", { host: "localhost:3000", port: "3000", pathname: "/sessions/abc", search: "", replace });
  });

  /** A tab that has been let in, and then asks another daemon. */
  async function ask(next: (daemon: Daemon) => void): Promise<Daemon> {
    new Daemon(SECRET);
    await request("/v1/a");
    const daemon = new Daemon(SECRET);
    daemon.movedTo = THERE;
    next(daemon);
    void request("/v1/a").catch(() => undefined);
    return daemon;
  }

  test("is followed there, by a code that is sent to nobody", async () => {
    const daemon = await ask(() => undefined);
    await vi.waitFor(() => expect(replace).toHaveBeenCalledOnce());
    const address = new URL(replace.mock.calls[0]?.[0] ?? "");
    expect(`${address.host}${address.pathname}`).toBe(`${THERE}/login`);
    const behind = new URLSearchParams(address.hash.slice(1));
    expect([behind.get("code")]).toEqual(daemon.codes);
    expect(behind.get("to")).toBe("/sessions/abc");
    expect(JSON.parse(behind.get("with") ?? "")).toMatchObject({ drafts: [["abc", "not sent"]] });
    expect(daemon.requests.join()).not.toContain(daemon.codes[0]);
  });

  test("is not followed by the word of somebody who does not know the tab", async () => {
    const daemon = await ask((daemon) => (daemon.tab = "sy_guess"));
    await vi.waitFor(() => expect(daemon.requests.some((one) => one.startsWith("/v1/login/challenge"))).toBe(true));
    expect(await request("/v1/a").catch(asProblem)).toMatchObject({ code: "impostor" });
    expect(daemon.codes).toEqual([]);
    expect(replace).not.toHaveBeenCalled();
  });

  test("is never another site", async () => {
    for (const there of [
      "evil.example",
      "evil.localhost",
      "abcdefghjkmn.localhost:3000/x",
      "a@abcdefghjkmn.localhost",
      "abcdefghjkmn.localhost:3001",
    ]) {
      await ask((daemon) => (daemon.movedTo = there));
      await request("/v1/a").catch(() => undefined);
    }
    expect(replace).not.toHaveBeenCalled();
  });
});
