// @vitest-environment jsdom
import { expect, test, vi } from "vitest";
import { nameOf } from "./people";

test("one's own deeds are one's own, also those of an earlier login", async () => {
  // A page that was just opened, in a browser that was never here.
  localStorage.clear();
  vi.resetModules();
  const { nameOf, ownNames, rememberOwnName } = await import("./people");
  rememberOwnName("browser sU6");
  rememberOwnName("browser x1");
  expect(nameOf("browser sU6")).toBe("you");
  expect(nameOf("token:browser x1 http")).toBe("you");
  expect(nameOf("browser other")).toBe("another browser");
  expect(JSON.parse(localStorage.getItem("switchyard.names") ?? "")).toEqual(["browser sU6", "browser x1"]);
  for (let i = 0; i < 200; i++) rememberOwnName(`browser ${i}`);
  expect(ownNames().size).toBeLessThan(100);
});

test("others have names that mean something", () => {
  const nobody = new Set<string>();
  expect(nameOf("token:phone http", nobody)).toBe("phone");
  expect(nameOf("local unix", nobody)).toBe("the terminal");
  expect(nameOf("local", nobody)).toBe("the terminal");
  expect(nameOf("locals bar", nobody)).toBe("locals bar");
  expect(nameOf("token:browser a b http", nobody)).toBe("another browser");
  expect(nameOf("admin", nobody)).toBe("admin");
});
