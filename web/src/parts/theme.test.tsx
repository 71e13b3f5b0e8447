// @vitest-environment jsdom
import { act, cleanup, renderHook } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { applyTheme, currentTheme, setTheme, useTheme } from "./theme";

const shown = () => document.documentElement.dataset.theme;

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  setTheme("system");
});

test("a theme is kept in this browser", () => {
  setTheme("dark");
  expect(localStorage.getItem("switchyard.theme")).toBe("dark");
  delete document.documentElement.dataset.theme;
  applyTheme();
  expect(shown()).toBe("dark");
});

const forbidden = () => {
  throw new DOMException("", "SecurityError");
};

test.each([
  ["is forbidden", { getItem: forbidden, setItem: forbidden, removeItem: forbidden }],
  ["is full", { getItem: () => "light", setItem: forbidden, removeItem: () => undefined }],
])("a theme is kept until the page is left where storage %s", (_, storage) => {
  vi.stubGlobal("localStorage", storage);
  const { result } = renderHook(() => useTheme());
  const choose = (theme: "light" | "dark") => act(() => result.current[1](theme));
  choose("light");
  expect([result.current[0], currentTheme(), shown()]).toEqual(["light", "light", "light"]);
  choose("dark");
  expect([result.current[0], currentTheme(), shown()]).toEqual(["dark", "dark", "dark"]);
});
