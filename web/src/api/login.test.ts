// @vitest-environment jsdom
import { beforeEach, describe, expect, it, vi } from "vitest";
import { codeIn, rememberWanted, takeWanted } from "./login";
import { askWhoIAm, forgetMe, may, type Me } from "./me";

describe("a pasted code", () => {
  it("is found in a link, in its end and alone", () => {
    expect(codeIn("http://127.0.0.1:7433/login#code=Ab-9_x")).toBe("Ab-9_x");
    expect(codeIn("#code=Ab-9_x&more=1")).toBe("Ab-9_x");
    expect(codeIn("  Ab-9_x \n")).toBe("Ab-9_x");
    expect(codeIn("  ")).toBe("");
  });
});

describe("where somebody wanted to go", () => {
  beforeEach(() => localStorage.clear());

  it("is kept for as long as a link works, and used once", () => {
    rememberWanted("/sessions/abc", 1000);
    expect(takeWanted(2000)).toBe("/sessions/abc");
    expect(takeWanted(2000)).toBe("/");
    rememberWanted("/sessions/abc", 1000);
    expect(takeWanted(1000 + 11 * 60_000)).toBe("/");
  });

  it("is never another site, nor the login itself", () => {
    for (const path of ["//evil.example", "/\\evil.example", "https://evil.example", "javascript:alert(1)"]) {
      localStorage.setItem("switchyard.wanted", JSON.stringify({ path, at: 1 }));
      expect(takeWanted(2)).toBe("/");
    }
    rememberWanted("/login", 1);
    expect(takeWanted(2)).toBe("/");
    localStorage.setItem("switchyard.wanted", "{");
    expect(takeWanted(2)).toBe("/");
  });
});

describe("who I am", () => {
  const answers = (byPath: Record<string, number>) =>
    vi.stubGlobal("fetch", async (path: string) => new Response("[]", { status: byPath[path] ?? 500 }));
  const roleAfter = async (byPath: Record<string, number>) => {
    answers(byPath);
    forgetMe();
    await askWhoIAm();
    const { useMe } = await import("./me");
    const { renderHook } = await import("@testing-library/react");
    return renderHook(() => useMe()).result.current;
  };

  it("follows from what is refused", async () => {
    expect(await roleAfter({ "/v1/tokens": 200 })).toEqual({ state: "known", role: "admin" });
    expect(await roleAfter({ "/v1/tokens": 403, "/v1/sessions": 400 })).toEqual({ state: "known", role: "operator" });
    expect(await roleAfter({ "/v1/tokens": 403, "/v1/sessions": 403 })).toEqual({ state: "known", role: "observer" });
    expect(await roleAfter({ "/v1/tokens": 401 })).toEqual({ state: "stranger" });
    expect((await roleAfter({ "/v1/tokens": 503 })).state).toBe("unknown");
  });

  it("allows what the role allows, and nothing before it is known", () => {
    const operator: Me = { state: "known", role: "operator" };
    expect([may(operator, "observer"), may(operator, "operator"), may(operator, "admin")]).toEqual([true, true, false]);
    expect(may({ state: "asking" }, "observer")).toBe(false);
  });
});
