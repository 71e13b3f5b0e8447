// @vitest-environment jsdom
// What is answered in the list of all questions, and what is not.
import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { askWhoIAm } from "../api/me";
import { readQuestions, stopLive } from "../api/live";
import type { Permission } from "../api/types";
import { listenToKeys } from "../parts/keys";
import { SETTLE } from "../parts/useSettled";
import { ApprovalsView } from "./Approvals";

let questions: Permission[];
let answered: string[];

beforeEach(() => {
  answered = [];
  vi.useFakeTimers();
  vi.stubGlobal("CSS", { escape: (id: string) => id });
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    if (init.method === "POST") answered.push(path.slice(path.lastIndexOf("/") + 1));
    const answer = path.startsWith("/v1/permissions") ? { permissions: questions } : { you: { name: "me", role: "operator" } };
    return Promise.resolve(Response.json(answer));
  });
});

afterEach(() => {
  cleanup();
  stopLive();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const asked = (requestId: string, since: number) =>
  ({
    requestId,
    sessionId: "s1",
    agent: "demo",
    since,
    title: "Do it?",
    kind: "permission",
    options: [{ optionId: "yes", name: "Allow once", kind: "allow_once" }],
    request: {},
  }) as unknown as Permission;

const settle = () => act(() => vi.advanceTimersByTimeAsync(SETTLE + 1));
const first = () => screen.getAllByRole("button", { name: "Allow once" })[0] as HTMLElement;

test("a double click allows one question, though the next one comes to lie under the pointer", async () => {
  questions = [asked("a1", 1), asked("a2", 2)];
  await act(() => readQuestions());
  render(<ApprovalsView />);
  await settle();
  fireEvent.click(first());
  // It is taken off the list at once.
  await act(() => vi.advanceTimersByTimeAsync(SETTLE / 4));
  expect(screen.getAllByRole("button", { name: "Allow once" })).toHaveLength(1);
  fireEvent.click(first());
  expect(answered).toEqual(["a1"]);
  await settle();
  fireEvent.click(first());
  expect(answered).toEqual(["a1", "a2"]);
});

test("a question that comes in below does not hold up those above it", async () => {
  questions = [asked("b1", 1)];
  await act(() => readQuestions());
  render(<ApprovalsView />);
  await settle();
  questions = [asked("b1", 1), asked("b2", 2)];
  await act(() => readQuestions());
  expect(first().getAttribute("aria-disabled")).toBeNull();
  fireEvent.click(first());
  expect(answered).toEqual(["b1"]);
});

test("what is too large to be shown here is answered in its session, not blindly", async () => {
  const stopListening = listenToKeys();
  // The clock of the test before was ahead of this one.
  fireEvent.keyDown(document.body, { key: "F9" });
  await askWhoIAm();
  questions = [asked("c1", 1)];
  await act(() => readQuestions());
  render(<ApprovalsView />);
  await settle();
  fireEvent.keyDown(document.body, { key: "y" });
  expect(answered).toEqual(["c1"]);

  questions = [{ ...asked("c2", 2), request: undefined }];
  await act(() => readQuestions());
  await settle();
  expect(screen.queryByRole("button", { name: "Allow once" })).toBeNull();
  expect(screen.getByRole("link", { name: /Open its session/ }).getAttribute("href")).toBe("/sessions/s1");
  fireEvent.keyDown(document.body, { key: "y" });
  expect(answered).toEqual(["c1"]);
  stopListening();
});
