// @vitest-environment jsdom
import { cleanup, fireEvent, render, renderHook, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { rememberOwnName } from "../../api/people";
import { Menu } from "../../parts/Menu";
import { empty, type Item } from "../../session/items";
import { conversationFromDaemon } from "../../session/testing";
import { log, update } from "../../session/samples";
import { Retry } from "./context";
import { EndRow } from "./EndRow";
import { QueueList } from "./QueueList";
import { ToolCard } from "./ToolCard";
import { useRetry } from "./useRetry";

let asked: { method: string; path: string; body: unknown }[];
let isRefused: boolean;

beforeEach(() => {
  Element.prototype.scrollIntoView = () => undefined;
  HTMLElement.prototype.showPopover = () => undefined;
  HTMLElement.prototype.hidePopover = () => undefined;
  asked = [];
  isRefused = false;
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    const body = typeof init.body === "string" ? (JSON.parse(init.body) as { prompt?: unknown }).prompt : undefined;
    asked.push({ method: init.method ?? "GET", path, body });
    return Promise.resolve(isRefused ? Response.json({ title: "it has begun", status: 404 }, { status: 404 }) : Response.json({}));
  });
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const words = (text: string) => [{ type: "text", text }];
const waiting = (turn: string, by: string) => ({ turn, time: 0, seq: 1, blocks: words(`words of ${turn}`), by });
const press = (name: string | RegExp) => fireEvent.click(screen.getByRole("button", { name }));

test("a waiting prompt can be dropped", async () => {
  render(<QueueList session="s1" queue={[waiting("t9", "eve")]} onEdit={() => undefined} />);
  expect(screen.getByText("words of t9")).toBeTruthy();
  press("Drop this prompt");
  await waitFor(() => expect(asked).toEqual([{ method: "DELETE", path: "/v1/sessions/s1/queue/t9", body: undefined }]));
});

test("a waiting prompt is edited where prompts are written, unless it has begun", async () => {
  const onEdit = vi.fn();
  render(<QueueList session="s1" queue={[waiting("t9", "eve")]} onEdit={onEdit} />);
  press("Edit this prompt");
  await waitFor(() => expect(onEdit).toHaveBeenCalledExactlyOnceWith("words of t9"));
  expect(asked).toEqual([{ method: "DELETE", path: "/v1/sessions/s1/queue/t9", body: undefined }]);

  isRefused = true;
  press("Edit this prompt");
  await waitFor(() => expect(screen.getByText("it has begun")).toBeTruthy());
  expect(onEdit).toHaveBeenCalledOnce();
});

test("a waiting prompt is sent now, and those before it after it", async () => {
  rememberOwnName("browser mine");
  const queue = [{ ...waiting("t8", "browser mine") }, { ...waiting("t9", "browser mine"), seq: 2 }];
  render(<QueueList session="s1" queue={queue} onEdit={() => undefined} />);
  const [, second] = screen.getAllByRole("button", { name: /send this now/ });
  if (second) fireEvent.click(second);
  await waitFor(() => expect(asked).toHaveLength(3));
  expect(asked.map(({ path, body }) => [path, body])).toEqual([
    ["/v1/sessions/s1/cancel", undefined],
    ["/v1/sessions/s1/prompt", words("words of t9")],
    ["/v1/sessions/s1/prompt", words("words of t8")],
  ]);
});

test("prompts of others are not sent again in this one's name", () => {
  rememberOwnName("browser mine");
  const queue = [waiting("t8", "eve"), { ...waiting("t9", "browser mine"), seq: 2 }];
  render(<QueueList session="s1" queue={queue} onEdit={() => undefined} />);
  expect(screen.queryByRole("button", { name: /send this now/ })).toBeNull();
});

const FAILED = log(
  ["prompt_received", { by: "x", prompt: words("mow") }, "t1"],
  ["turn_started", {}, "t1"],
  ["turn_ended", { stopReason: "error", error: { message: "set `KEY` first" } }, "t1"],
);

test("a turn whose end is missing in the log says so", () => {
  const { items } = conversationFromDaemon(empty(), log(["turn_started", {}, "t1"], ["turn_started", {}, "t2"]));
  const end = items.find((item): item is Extract<Item, { type: "end" }> => item.type === "end");
  expect(end?.stopReason).toBe("lost");
  if (end) render(<EndRow item={end} />);
  expect(screen.getByText("Ended: the log does not say how")).toBeTruthy();
});

test("the last turn, if it failed, can be tried again", async () => {
  const conversation = conversationFromDaemon(empty(), FAILED);
  const { result } = renderHook(() => useRetry("s1", conversation, () => undefined));
  const end = conversation.items.find((item): item is Extract<Item, { type: "end" }> => item.type === "end");
  expect(end).toBeDefined();
  if (!end) return;
  render(
    <Retry.Provider value={result.current}>
      <EndRow item={end} />
    </Retry.Provider>,
  );
  expect(screen.getByText("KEY").tagName).toBe("CODE");
  press("Try again");
  await waitFor(() => expect(asked).toEqual([{ method: "POST", path: "/v1/sessions/s1/prompt", body: words("mow") }]));
});

test("what went well, was stopped, or is followed by another is not tried again", () => {
  const retryOf = (...more: Parameters<typeof log>) => {
    const conversation = conversationFromDaemon(empty(), [
      ...FAILED,
      ...log(...more).map((event) => ({ ...event, seq: event.seq + FAILED.length })),
    ]);
    return renderHook(() => useRetry("s1", conversation, () => undefined)).result.current?.turn;
  };
  expect(retryOf()).toBe("t1");
  expect(retryOf(["prompt_received", { prompt: words("again") }, "t2"])).toBeUndefined();
  expect(retryOf(["turn_started", {}, "t2"])).toBeUndefined();
  expect(retryOf(["turn_started", {}, "t2"], ["turn_ended", { stopReason: "end_turn" }, "t2"])).toBeUndefined();
});

function toolOf(...events: Parameters<typeof log>) {
  const found = conversationFromDaemon(empty(), log(...events)).items.find(
    (item): item is Extract<Item, { type: "tool" }> => item.type === "tool",
  );
  if (!found) throw new Error("no tool call");
  return found;
}

test("a command that failed is shown as failed though its call went well", () => {
  const command = { toolCallId: "c", title: "Run `false`", kind: "execute", status: "completed", rawOutput: { exitCode: 3 } };
  const { container } = render(<ToolCard item={toolOf(update("tool_call", command))} />);
  expect(container.querySelector(".tool-status")?.textContent).toBe("Failed: exit code 3");
  expect(container.querySelector(".tool-card.failed .tool-status.bad")).not.toBeNull();
  cleanup();
  const well = render(<ToolCard item={toolOf(update("tool_call", { ...command, rawOutput: { exitCode: 0 } }))} />);
  expect(well.container.querySelector(".tool-status.good")?.textContent).toBe("Done");
  cleanup();
  const runs = render(<ToolCard item={toolOf(update("tool_call", { ...command, status: "in_progress" }))} />);
  expect(runs.container.querySelector(".tool-status")?.textContent).toBe("Running");
});

test("the time of a call is without that for which it waited for a person", () => {
  const events = log(
    update("tool_call", { toolCallId: "c", title: "x", kind: "execute", status: "pending" }),
    ["permission_requested", { requestId: "q", request: { toolCall: { toolCallId: "c" }, options: [] } }, "t1"],
    ["permission_resolved", { requestId: "q", by: { who: "client" }, allowed: true }, "t1"],
    update("tool_call_update", { toolCallId: "c", status: "completed" }),
  );
  const times = [1_000, 1_500, 24_500, 27_000];
  const { items } = conversationFromDaemon(
    empty(),
    events.map((event, i) => ({ ...event, time: times[i] ?? 0 })),
  );
  const item = items.find((each): each is Extract<Item, { type: "tool" }> => each.type === "tool");
  expect(item?.waitedMs).toBe(23_000);
  if (item) render(<ToolCard item={item} />);
  expect(screen.getByText("3.0 s")).toBeTruthy();
});

test("a menu of many is searched, and one of few is not", () => {
  const run = vi.fn();
  const items = Array.from({ length: 40 }, (_, n) => ({ label: `Model ${n}`, isChosen: n === 0, run: () => void run(n) }));
  render(<Menu label="Model" text="Model 0" items={items} />);
  const search = screen.getByLabelText("Search: Model");
  fireEvent.change(search, { target: { value: "el 37" } });
  expect(screen.getAllByRole("menuitemradio", { hidden: true })).toHaveLength(1);
  fireEvent.keyDown(search, { key: "Enter" });
  expect(run).toHaveBeenCalledExactlyOnceWith(37);
  fireEvent.change(search, { target: { value: "nowhere" } });
  expect(screen.getByText("No match.")).toBeTruthy();
  cleanup();
  render(<Menu label="Mode" text="ask" isNamed items={items.slice(0, 3)} />);
  expect(screen.queryByLabelText("Search: Mode")).toBeNull();
  expect(screen.getByRole("button").textContent).toBe("Mode: ask");
});
