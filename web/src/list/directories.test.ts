import { expect, test } from "vitest";
import { withSlash, queryFor } from "./directories";

test("a path that is typed says where to look and how names begin", () => {
  expect(queryFor("")).toEqual({ path: undefined, prefix: "" });
  expect(queryFor("pro")).toEqual({ path: undefined, prefix: "pro" });
  expect(queryFor("~")).toEqual({ path: "~", prefix: "" });
  expect(queryFor("~/pro")).toEqual({ path: "~/", prefix: "pro" });
  expect(queryFor(" /home/me/pro")).toEqual({ path: "/home/me/", prefix: "pro" });
  expect(queryFor("/home/me/")).toEqual({ path: "/home/me/", prefix: "" });
  expect(queryFor("/")).toEqual({ path: "/", prefix: "" });
});

test("one goes on inside of what was chosen", () => {
  expect(["", "/", "~", "/src", "/src/"].map(withSlash)).toEqual(["", "/", "~/", "/src/", "/src/"]);
});
