// @vitest-environment jsdom
import { beforeEach, describe, expect, it, vi } from "vitest";
import { codeIn, logIn, logOut, rememberTarget, takeTarget } from "./login";
import { askWhoIAm, forgetMe, may, type Me } from "./me";
import { forgetPass, keepPass } from "./pass";
import { forgetPageSecret, keepPageSecret } from "./secret";

describe("a pasted code", () => {
  it("is found in a link, in its end and alone", () => {
    expect(codeIn("http://127.0.0.1:7433/login#code=Ab-9_x")).toBe("Ab-9_x");
    expect(codeIn("#code=Ab-9_x&more=1")).toBe("Ab-9_x");
    expect(codeIn("  Ab-9_x \n")).toBe("Ab-9_x");
    expect(codeIn("  ")).toBe("");
  });
});

describe("the path to go to after the login", () => {
  beforeEach(() => localStorage.clear());

  it("is kept for as long as a link works, and used once", () => {
    rememberTarget("/sessions/abc", 1000);
    expect(takeTarget(2000)).toBe("/sessions/abc");
    expect(takeTarget(2000)).toBe("/");
    rememberTarget("/sessions/abc", 1000);
    expect(takeTarget(1000 + 11 * 60_000)).toBe("/");
  });

  it("is never another site, nor the login itself", () => {
    for (const path of [
      "/\t/evil.example",
      "/\n\\evil.example",
      "//evil.example",
      "/\\evil.example",
      "https://evil.example",
      "javascript:alert(1)",
    ]) {
      localStorage.setItem("switchyard.wanted", JSON.stringify({ path, at: 1 }));
      expect(takeTarget(2)).toBe("/");
    }
    rememberTarget("/login", 1);
    expect(takeTarget(2)).toBe("/");
    localStorage.setItem("switchyard.wanted", "{");
    expect(takeTarget(2)).toBe("/");
  });
});

describe("coming in and going out", () => {
  it("shows its pass with every request, its secret to nobody, and forgets both", async () => {
    const shown: (string | null)[] = [];
    vi.stubGlobal("fetch", async (path: string, order: RequestInit) => {
      shown.push(new Headers(order.headers).get("X-Switchyard-Page"));
      expect(JSON.stringify([[...new Headers(order.headers)], order.body])).not.toContain("sy_secret");
      const body = path === "/v1/login" ? { pageSecret: "sy_secret", pass: "sy_x", tabSecret: "sy_tab" } : { you: { role: "admin" } };
      return new Response(path === "/v1/logout" ? null : JSON.stringify(body), { status: path === "/v1/logout" ? 204 : 200 });
    });
    await logIn("code");
    await logOut();
    await askWhoIAm();
    expect(shown).toEqual([null, "sy_x", "sy_x", null]);
  });
});

describe("a tab that moves here from another name", () => {
  const fragment = `#${new URLSearchParams({
    code: "code",
    to: "/sessions/abc",
    with: JSON.stringify({ drafts: [["abc", "not sent"]], theme: "dark", names: ["browser x"] }),
  }).toString()}`;
  const answering = (status: number) =>
    vi.stubGlobal("fetch", async (path: string) =>
      path === "/v1/login"
        ? Response.json({ pageSecret: "sy_secret", pass: "sy_x", tabSecret: "sy_tab" }, { status })
        : Response.json({ you: { role: "admin" } }),
    );
  beforeEach(() => {
    localStorage.clear();
    sessionStorage.clear();
  });

  it("goes on where it was, with what was written", async () => {
    answering(200);
    await logIn("code", fragment);
    expect(takeTarget()).toBe("/sessions/abc");
    expect(sessionStorage.getItem("switchyard.draft.abc")).toBe("not sent");
    expect(localStorage.getItem("switchyard.theme")).toBe("dark");
    expect(localStorage.getItem("switchyard.names")).toContain("browser x");
    forgetPageSecret();
    forgetPass();
  });

  it("is believed only with a code that is taken", async () => {
    answering(401);
    await expect(logIn("code", fragment)).rejects.toMatchObject({ status: 401 });
    expect(takeTarget()).toBe("/");
    expect(sessionStorage.getItem("switchyard.draft.abc")).toBeNull();
    expect(localStorage.getItem("switchyard.theme")).toBeNull();
  });
});

describe("a link that was used before", () => {
  it("ends no login, and is handed in without anything of that login", async () => {
    keepPageSecret("sy_secret");
    keepPass({ pass: "sy_x", tabSecret: "sy_tab" });
    const shown: (string | null)[] = [];
    vi.stubGlobal("fetch", async (path: string, order: RequestInit) => {
      shown.push(new Headers(order.headers).get("X-Switchyard-Page"));
      return path === "/v1/login" ? new Response("{}", { status: 401 }) : Response.json({ you: { role: "admin" } });
    });
    await expect(logIn("code")).rejects.toMatchObject({ status: 401 });
    await askWhoIAm();
    expect(shown).toEqual([null, "sy_x"]);
    forgetPageSecret();
    forgetPass();
  });
});

describe("who I am", () => {
  const roleAfter = async (status: number, role?: string) => {
    vi.stubGlobal("fetch", async (path: string) => {
      expect(path).toBe("/v1/capabilities");
      return new Response(JSON.stringify({ you: { role } }), { status });
    });
    forgetMe();
    await askWhoIAm();
    const { useMe } = await import("./me");
    const { renderHook } = await import("@testing-library/react");
    return renderHook(() => useMe()).result.current;
  };

  it("is what the daemon says", async () => {
    for (const role of ["observer", "operator", "admin"]) {
      expect(await roleAfter(200, role)).toEqual({ state: "loggedIn", role });
    }
    expect(await roleAfter(401)).toEqual({ state: "loggedOut" });
    expect((await roleAfter(503)).state).toBe("unknown");
  });

  it("allows what the role allows, and nothing before it is known", () => {
    const operator: Me = { state: "loggedIn", role: "operator" };
    expect([may(operator, "observer"), may(operator, "operator"), may(operator, "admin")]).toEqual([true, true, false]);
    expect(may({ state: "loading" }, "observer")).toBe(false);
  });
});
