// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { asProblem, isAbort } from "./problem";
import { request, requestJson } from "./request";
import { forgetPageSecret } from "./secret";

beforeEach(() => {
  forgetPageSecret();
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Never answers, and ends when it is aborted. */
const mute = (_: string, { signal }: RequestInit) =>
  new Promise<Response>((_resolve, reject) => signal?.addEventListener("abort", () => reject(new DOMException("", "AbortError"))));

test("a request that gets no answer ends, and says so", async () => {
  vi.stubGlobal("fetch", mute);
  const asked = request("/v1/x").catch(asProblem);
  await vi.advanceTimersByTimeAsync(29_000);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await asked).toMatchObject({ code: "unanswered", message: "the daemon has not answered for 30 seconds" });
});

test("an answer that breaks off in the middle ends too", async () => {
  vi.stubGlobal("fetch", (_: string, { signal }: RequestInit) => {
    const body = new ReadableStream({
      start: (to) => signal?.addEventListener("abort", () => to.error(new DOMException("", "AbortError"))),
    });
    return Promise.resolve(new Response(body));
  });
  const asked = requestJson("/v1/x", { timeout: 5_000 }).catch(asProblem);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(await asked).toMatchObject({ code: "unanswered" });
});

test("what was called off is no problem of the daemon", async () => {
  vi.stubGlobal("fetch", mute);
  const off = new AbortController();
  const asked = request("/v1/x", { signal: off.signal }).catch((error: unknown) => error);
  off.abort();
  expect(isAbort(await asked)).toBe(true);
});

test("a body that is read later is not cut off", async () => {
  let signal: AbortSignal | null | undefined;
  vi.stubGlobal("fetch", (_: string, init: RequestInit) => {
    signal = init.signal;
    return Promise.resolve(new Response("text"));
  });
  const response = await request("/v1/x");
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(signal?.aborted).toBe(false);
  expect(await response.text()).toBe("text");
});
