import { expect, test } from "vitest";
import { inside, wantedFor } from "./directories";

test("a path that is typed says where to look and how names begin", () => {
  expect(wantedFor("")).toEqual({ path: undefined, prefix: "" });
  expect(wantedFor("pro")).toEqual({ path: undefined, prefix: "pro" });
  expect(wantedFor("~")).toEqual({ path: "~", prefix: "" });
  expect(wantedFor("~/pro")).toEqual({ path: "~/", prefix: "pro" });
  expect(wantedFor(" /home/me/pro")).toEqual({ path: "/home/me/", prefix: "pro" });
  expect(wantedFor("/home/me/")).toEqual({ path: "/home/me/", prefix: "" });
  expect(wantedFor("/")).toEqual({ path: "/", prefix: "" });
});

test("one goes on inside of what was chosen", () => {
  expect(["", "/", "~", "/src", "/src/"].map(inside)).toEqual(["", "/", "~/", "/src/", "/src/"]);
});
