import { expect, test } from "vitest";
import { mayConcern } from "./live";
import type { ListChange } from "./types";

const change = (kind: ListChange["kind"], pending?: number): ListChange => ({ session: "s", kind, pending });
const asked = [{ sessionId: "s" }, { sessionId: "other" }];

test.each(["created", "title", "status", "pending"] as const)("questions are read when %s reports one more or one less", (kind) => {
  expect(mayConcern([], change(kind, 1))).toBe(true);
  expect(mayConcern(asked, change(kind, 0))).toBe(true);
  expect(mayConcern(asked, change(kind, 2))).toBe(true);
});

test("questions are read when they may be others though they are as many", () => {
  expect(mayConcern(asked, change("pending", 1))).toBe(true);
  expect(mayConcern(asked, change("status", 1))).toBe(true);
  expect(mayConcern(asked, change("deleted"))).toBe(true);
});

test("a session that is new or renamed and asks nothing new makes nobody ask", () => {
  expect(mayConcern([], change("created", 0))).toBe(false);
  expect(mayConcern(asked, change("title", 1))).toBe(false);
});
