import { expect, test } from "vitest";
import { pathOf, routeOf } from "./router";

test("every path leads to its view and back", () => {
  for (const path of ["/", "/agents", "/approvals", "/login", "/sessions/a%2Fb"]) {
    expect(pathOf(routeOf(path))).toBe(path);
  }
});

test("the sessions without an id are the list, and a slash at the end changes nothing", () => {
  for (const path of ["/sessions", "/sessions/"]) expect(routeOf(path)).toEqual({ view: "sessions" });
  expect(routeOf("/agents/")).toEqual({ view: "agents" });
  expect(routeOf("/sessions/a/")).toEqual({ view: "session", id: "a" });
});

test("what is no path of the page leads nowhere", () => {
  for (const path of ["/agents/x", "/sessions/a/b", "/what", "/sessions/%zz"]) {
    expect(routeOf(path)).toEqual({ view: "notFound" });
  }
});
