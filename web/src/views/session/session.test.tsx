// @vitest-environment jsdom
import { act, cleanup, fireEvent, render, renderHook, screen, waitFor } from "@testing-library/react";
import { createRef } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LogEvent } from "../../api/types";
import { empty, type Item } from "../../session/items";
import { conversationFromDaemon } from "../../session/testing";
import { Rows } from "../../session/rows";
import { useToasts } from "../../parts/toasts";
import { log, update } from "../../session/samples";
import { Composer } from "./Composer";
import { SessionContext } from "./context";
import { RowView } from "./RowView";
import { useAttachments } from "./useAttachments";

interface Asked {
  method: string;
  path: string;
  body: unknown;
}

let asked: Asked[];
let answer: (asked: Asked) => Response | Promise<Response>;

beforeEach(() => {
  // jsdom lays nothing out.
  Element.prototype.scrollIntoView = () => undefined;
  asked = [];
  sessionStorage.clear();
  answer = () => Response.json({});
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    const one = {
      method: init.method ?? "GET",
      path,
      body: typeof init.body === "string" ? (JSON.parse(init.body) as unknown) : init.body,
    };
    asked.push(one);
    return Promise.resolve().then(() => answer(one));
  });
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function draw(events: LogEvent[]) {
  const { items } = conversationFromDaemon(empty(), events);
  const context = { id: "s1", cwd: "/home/me", folds: new Map<string, boolean>(), fork: () => undefined, noteOnScreen: () => undefined };
  return render(
    <SessionContext.Provider value={context}>
      {new Rows().of(items).map((row) => (
        <RowView key={row.key} row={row} isLive={false} />
      ))}
    </SessionContext.Provider>,
  );
}

const REQUEST = {
  toolCall: { toolCallId: "c", title: "Run `rm -rf build`", rawInput: { command: "rm -rf build" } },
  options: [
    { optionId: "yes", name: "Allow once", kind: "allow_once" },
    { optionId: "no", name: "Reject", kind: "reject_once" },
  ],
};
let questions = 0;
/** A question of its own each time: that one is being answered is remembered. */
const ask = () => log(["permission_requested", { requestId: `q${++questions}`, ask: true, request: REQUEST }, "t1"]);

/** A button, once clicks on it count. */
async function ready(name: RegExp | string): Promise<HTMLElement> {
  return waitFor(
    () => {
      const button = screen.getByRole("button", { name });
      expect(button.getAttribute("aria-disabled")).toBeNull();
      return button;
    },
    { timeout: 10_000 },
  );
}

test("a question shows what would be done, and its options answer it", async () => {
  draw(ask());
  expect(screen.getByLabelText("Command").textContent).toBe("rm -rf build");
  expect(screen.queryByText("The agent does not say what exactly it would do.")).toBeNull();
  fireEvent.click(await ready(/Reject/));
  await waitFor(() => expect(asked).toHaveLength(1));
  expect(asked[0]).toEqual({ method: "POST", path: `/v1/sessions/s1/permissions/q${questions}`, body: { optionId: "no" } });
  // Nobody answers twice while the first answer is under way.
  expect(screen.getByRole<HTMLButtonElement>("button", { name: /Allow once/ }).disabled).toBe(true);
});

test("an answer that was refused says why and can be given again", async () => {
  answer = () =>
    Response.json(
      { type: "urn:switchyard:problem:forbidden", title: "not allowed", status: 403, remedy: "ask an operator" },
      { status: 403 },
    );
  draw(ask());
  fireEvent.click(await ready(/Allow once/));
  await screen.findByText("ask an operator");
  expect(screen.getByRole<HTMLButtonElement>("button", { name: /Allow once/ }).disabled).toBe(false);
});

test("that somebody else was faster is no error", async () => {
  answer = () =>
    Response.json(
      {
        type: "urn:switchyard:problem:already-decided",
        title: "somebody else decided",
        detail: "client token:eve http decided: Reject",
        status: 409,
      },
      { status: 409 },
    );
  draw(ask());
  fireEvent.click(await ready(/Allow once/));
  await waitFor(() => expect(asked.length).toBeGreaterThan(0));
  await waitFor(() => expect(toastTexts()).toContain("Answered already, by eve: Reject."));
  expect(screen.queryByRole("alert")).toBeNull();
});

function toastTexts(): string[] {
  const { result, unmount } = renderHook(() => useToasts());
  const texts = result.current.map((toast) => toast.text);
  unmount();
  return texts;
}

test("an answered question says who answered how", () => {
  const answered = log(
    ["permission_requested", { requestId: "q1", ask: true, request: REQUEST }, "t1"],
    [
      "permission_resolved",
      { requestId: "q1", by: { who: "client", detail: "token:eve http" }, allowed: false, outcome: { name: "Reject" }, waitedMs: 2000 },
      "t1",
    ],
  );
  const { container } = draw(answered);
  expect(container.textContent).toContain("Reject, eve after 2.0 s");
  expect(screen.queryByRole("group", { name: "Answers" })).toBeNull();
});

test("a form is sent as its fields say", async () => {
  const requestedSchema = {
    type: "object",
    properties: {
      name: { type: "string", title: "Your name" },
      age: { type: "integer" },
      colour: { type: "string", oneOf: [{ const: "red", title: "Red" }] },
      sure: { type: "boolean" },
    },
    required: ["name"],
  };
  draw(log(["elicitation_requested", { requestId: "form", ask: true, request: { message: "Who?", requestedSchema } }, "t1"]));
  fireEvent.change(screen.getByLabelText(/Your name/), { target: { value: "Ada" } });
  fireEvent.change(screen.getByLabelText("age"), { target: { value: "36" } });
  fireEvent.click(screen.getByLabelText("sure"));
  fireEvent.click(await ready("Send"));
  await waitFor(() => expect(asked).toHaveLength(1));
  expect(asked[0]?.body).toEqual({ response: { action: "accept", content: { name: "Ada", age: 36, sure: true } } });
});

test("a field that begins with something other than text shows what would be sent", () => {
  const requestedSchema = {
    type: "object",
    properties: { odd: { type: "string", default: { a: 1 } }, age: { type: "integer", default: 36 } },
  };
  draw(log(["elicitation_requested", { requestId: "form", ask: true, request: { message: "Who?", requestedSchema } }, "t1"]));
  expect(screen.getByLabelText<HTMLInputElement>("odd").value).toBe('{"a":1}');
  expect(screen.getByLabelText<HTMLInputElement>("age").value).toBe("36");
});

test("every kind of item can be drawn, folded and open", () => {
  const every = log(
    ["session_created", { agent: "demo", cwd: "/" }],
    [
      "prompt_received",
      {
        by: "me",
        prompt: [
          { type: "text", text: "hi" },
          { type: "resource_link", name: "a.txt", uri: "file:///a.txt" },
        ],
      },
      "t1",
    ],
    ["turn_started", {}, "t1"],
    update("agent_thought_chunk", { content: { type: "text", text: "hm" } }),
    update("agent_message_chunk", { content: { type: "text", text: "**yes**" } }),
    update("agent_message_chunk", { content: { type: "audio", mimeType: "audio/wav", data: "" } }),
    update("tool_call", {
      toolCallId: "1",
      title: "Edit",
      kind: "edit",
      status: "completed",
      rawInput: { a: 1 },
      content: [{ type: "diff", path: "/home/me/a", oldText: "x", newText: "y" }],
    }),
    update("tool_call", {
      toolCallId: "2",
      title: "Run",
      kind: "execute",
      status: "completed",
      rawOutput: { output: "\u001b[32mok\u001b[0m" },
    }),
    update("tool_call", {
      toolCallId: "3",
      title: "Odd",
      content: [{}, { type: "terminal" }, { type: "content" }],
      locations: [{ path: "/home/me/b", line: 3 }],
    }),
    update("plan", { entries: [{ content: "look", status: "in_progress" }] }),
    ["agent_stderr", { text: "warning" }, "t1"],
    ["turn_ended", { stopReason: "error", error: { message: "no money", remedy: "earn some" } }, "t1"],
  );
  const { container } = draw(every);
  for (const fold of screen.getAllByRole("button", { expanded: false })) fireEvent.click(fold);
  expect(container.textContent).not.toContain("cannot be shown");
  for (const words of ["yes", "hm", "ok", "b:3", "look", "warning", "no money", "earn some", "a.txt"])
    expect(container.textContent).toContain(words);
  const types = new Set(conversationFromDaemon(empty(), every).items.map((item: Item) => item.type));
  expect(types).toEqual(new Set(["notice", "prompt", "thought", "answer", "content", "tool", "plan", "end"]));
});

test("an error that the agent has answered with is shown once", () => {
  const message = "Rate limit exceeded (HTTP 429) calling http://here/v1.";
  const failed: Parameters<typeof log>[number] = ["turn_ended", { stopReason: "error", error: { message } }, "t1"];
  const answerText = update("agent_message_chunk", { content: { type: "text", text: message } });
  for (const events of [[answerText, failed], [failed]]) {
    cleanup();
    const { container } = draw(log(...events));
    expect(container.textContent?.split("Rate limit exceeded").length).toBe(2);
    expect(container.textContent).toContain("Failed");
  }
});

const RUN = update("tool_call", {
  toolCallId: "c",
  title: "Run it",
  kind: "execute",
  status: "in_progress",
  content: [{ type: "terminal", terminalId: "term_1" }],
});
const printed = (data: string): Parameters<typeof log>[number] => ["terminal_output", { terminalId: "term_1", data }, "t1"];

test("a card says that its command still runs, or was lost, or by which signal it ended", () => {
  const done = [
    RUN,
    printed("one\n"),
    update("tool_call_update", { toolCallId: "c", status: "completed" }),
    ["turn_ended", { stopReason: "end_turn" }, "t1"],
  ] as const;
  const badges = (...more: Parameters<typeof log>) => {
    cleanup();
    const { container } = draw(log(...done, ...more));
    for (const fold of screen.queryAllByRole("button", { expanded: false })) fireEvent.click(fold);
    return { all: [...container.querySelectorAll(".tool-card .badge")].map((badge) => badge.textContent), words: container.textContent };
  };
  expect(badges().all).toEqual(["Still running", "Done"]);
  expect(badges(["worker_exited", { signal: 9 }]).all).toEqual(["Lost", "Done"]);
  expect(badges(["worker_started", {}]).all).toEqual(["Lost", "Done"]);
  expect(badges(["terminal_exited", { terminalId: "term_1", lost: true }, "t1"]).all).toEqual(["Lost", "Done"]);
  expect(badges(["terminal_exited", { terminalId: "term_1", exitCode: 0 }, "t1"], ["worker_exited", { stopped: true }]).all).toEqual([
    "Done",
  ]);
  const killed = badges(["worker_exited", { stopped: true }], ["terminal_exited", { terminalId: "term_1", signal: "9" }, "t1"]);
  expect(killed.all).toEqual(["Done"]);
  expect(killed.words).toContain("Ended by signal 9");

  cleanup();
  const { container } = draw(
    log(["turn_started", {}, "t1"], RUN, [
      "turn_ended",
      { stopReason: "error", error: { message: "gone", category: "interrupted" } },
      "t1",
    ]),
  );
  expect([...container.querySelectorAll(".tool-card .badge")].map((badge) => badge.textContent)).toEqual(["Lost"]);
});

test("a card shows what its terminal prints, also before the card was there, and how it ended", () => {
  const events = log(["turn_started", {}, "t1"], printed("\u001b[32mone\u001b[0m\n"), RUN, printed("two\n"), [
    "terminal_exited",
    { terminalId: "term_1", exitCode: 3 },
    "t1",
  ]);
  draw(events.slice(0, 3));
  expect(screen.getByLabelText("Output").textContent).toBe("one\n");
  expect(screen.getByText("one").className).toBe("fg-green");
  cleanup();
  draw(events);
  expect(screen.getByLabelText("Output").textContent).toBe("one\ntwo\n");
  expect(screen.getByText("Exit code 3")).toBeTruthy();
});

test("a running card stays open when its question is answered, and shows a change once while it waits", () => {
  const change = { type: "diff", path: "/home/me/a", oldText: "x", newText: "y" };
  const asks: Parameters<typeof log>[number] = [
    "permission_requested",
    { requestId: "edit", ask: true, request: { toolCall: { toolCallId: "c" }, options: REQUEST.options } },
    "t1",
  ];
  const events = log(
    ["turn_started", {}, "t1"],
    update("tool_call", { toolCallId: "c", title: "Edit a", kind: "edit", status: "pending", content: [change] }),
    asks,
    ["permission_resolved", { requestId: "edit", by: { who: "client" }, allowed: true }, "t1"],
    update("tool_call_update", { toolCallId: "c", status: "in_progress" }),
  );
  draw(events.slice(0, 3));
  expect(screen.getAllByRole("figure")).toHaveLength(1);
  expect(screen.getByRole("button", { name: /Edit a/ }).getAttribute("aria-expanded")).toBe("false");
  cleanup();
  draw(events);
  expect(screen.getByRole("button", { name: /Edit a/ }).getAttribute("aria-expanded")).toBe("true");
  expect(screen.getAllByRole("figure")).toHaveLength(1);
});

test("a prompt that was dropped can be put back", () => {
  const reuse = vi.fn();
  const { items } = conversationFromDaemon(
    empty(),
    log(
      ["prompt_received", { by: "me", prompt: [{ type: "text", text: "later" }] }, "t2"],
      ["prompt_dropped", { reason: "cancelled" }, "t2"],
    ),
  );
  const context = { id: "s1", cwd: "/", folds: new Map<string, boolean>(), fork: () => undefined, noteOnScreen: () => undefined, reuse };
  render(
    <SessionContext.Provider value={context}>
      {new Rows().of(items).map((row) => (
        <RowView key={row.key} row={row} isLive={false} />
      ))}
    </SessionContext.Provider>,
  );
  fireEvent.click(screen.getByRole("button", { name: "Put it back into the prompt" }));
  expect(reuse).toHaveBeenCalledWith("later");
});

function Writing({ isRunning = false, onStop = () => undefined }) {
  const attachments = useAttachments("s1");
  return (
    <Composer
      session="s1"
      cwd="/home/me"
      commands={[{ name: "help", description: "list" }]}
      attachments={attachments}
      isRunning={isRunning}
      isStopping={false}
      isDisabled={false}
      input={createRef<HTMLTextAreaElement>()}
      onStop={onStop}
    />
  );
}

function write(text: string): HTMLTextAreaElement {
  const field = screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Prompt" });
  fireEvent.focus(field);
  fireEvent.change(field, { target: { value: text, selectionStart: text.length } });
  return field;
}

test("Enter sends, Shift+Enter does not", async () => {
  render(<Writing />);
  const field = write("hello");
  fireEvent.keyDown(field, { key: "Enter", shiftKey: true });
  expect(asked).toHaveLength(0);
  fireEvent.keyDown(field, { key: "Enter" });
  await waitFor(() => expect(field.value).toBe(""));
  expect(asked[0]).toMatchObject({ method: "POST", path: "/v1/sessions/s1/prompt", body: { prompt: "hello", attachments: [] } });
});

test("clicks that come before anything is drawn send once", async () => {
  render(<Writing />);
  fireEvent.change(screen.getByRole("textbox", { name: "Prompt" }), { target: { value: "once", selectionStart: 4 } });
  const button = screen.getByRole<HTMLButtonElement>("button", { name: "Send" });
  act(() => {
    for (let i = 0; i < 3; i++) button.click();
  });
  await waitFor(() => expect(screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Prompt" }).value).toBe(""));
  await waitFor(() => expect(asked).toHaveLength(1));
});

test("a prompt whose answer was lost is sent again under the same name, and is not lost itself", async () => {
  answer = () => Promise.reject(new TypeError("network"));
  render(<Writing />);
  const field = write("hello");
  fireEvent.keyDown(field, { key: "Enter" });
  await screen.findByRole("alert");
  expect(field.value).toBe("hello");
  answer = () => Response.json({ turnId: "t" });
  fireEvent.keyDown(field, { key: "Enter" });
  await waitFor(() => expect(field.value).toBe(""));
  const names = asked.map((one) => (one.body as { clientRequestId: string }).clientRequestId);
  expect(names[0]).toBe(names[1]);
});

test("what is written while a prompt is on its way stays, and the prompt is not lost when it fails", async () => {
  let fail: (error: unknown) => void = () => undefined;
  answer = () => new Promise<Response>((_, reject) => (fail = reject));
  render(<Writing />);
  const field = write("first");
  fireEvent.keyDown(field, { key: "Enter" });
  await waitFor(() => expect(asked).toHaveLength(1));
  expect(field.value).toBe("");
  write("second");

  fail(new TypeError("network"));
  await screen.findByText(/Not sent: first/);
  expect(field.value).toBe("second");

  answer = () => Response.json({ turnId: "t" });
  fireEvent.click(screen.getByRole("button", { name: "Send again" }));
  await waitFor(() => expect(screen.queryByText(/Not sent/)).toBeNull());
  const sent = asked.map((one) => one.body as { prompt: string; clientRequestId: string });
  expect(sent.map((body) => body.prompt)).toEqual(["first", "first"]);
  expect(sent[0]?.clientRequestId).toBe(sent[1]?.clientRequestId);
  expect(field.value).toBe("second");
});

test("a mentioned file goes as a link, and only one that the daemon knows", async () => {
  answer = ({ path }) =>
    path.includes("/files") ? Response.json({ files: [{ path: "src/a b.rs" }, { path: "src/main.rs" }] }) : Response.json({ turnId: "t" });
  render(<Writing />);
  write("see @ma");
  await screen.findByRole("option", { name: /main\.rs/ });
  const field = write("see @src/main.rs, not @nobody");
  fireEvent.keyDown(field, { key: "Escape" });
  fireEvent.keyDown(field, { key: "Enter" });
  await waitFor(() => expect(asked.some((one) => one.path.endsWith("/prompt"))).toBe(true));
  const prompt = asked.find((one) => one.path.endsWith("/prompt"))?.body as { prompt: unknown };
  expect(prompt.prompt).toEqual([
    { type: "text", text: "see @src/main.rs, not @nobody" },
    { type: "resource_link", uri: "file:///home/me/src/main.rs", name: "src/main.rs" },
  ]);
});

test("what was not sent is there again after a reload", () => {
  const first = render(<Writing />);
  write("half a thought");
  first.unmount();
  render(<Writing />);
  expect(screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Prompt" }).value).toBe("half a thought");
});

test("a slash offers the agent's commands, Enter takes one instead of sending", () => {
  render(<Writing />);
  const field = write("/he");
  expect(screen.getByRole("option", { name: /\/help/ })).toBeTruthy();
  fireEvent.keyDown(field, { key: "Enter" });
  expect(field.value).toBe("/help ");
  expect(asked).toHaveLength(0);
});

test("pasted files are uploaded and go with the prompt; one that is removed does not", async () => {
  let made = 0;
  answer = ({ path, method }) =>
    method === "POST" && path.includes("/attachments")
      ? Response.json({ id: `a${++made}`, name: "n", size: 1, mimeType: "text/plain", by: "me", created: 0 })
      : Response.json({ turnId: "t" });
  render(<Writing />);
  const field = write("look");
  fireEvent.paste(field, { clipboardData: { files: [new File(["x"], "x.txt"), new File(["y"], "y.txt")] } });
  await waitFor(() => expect(screen.getAllByRole("listitem").every((item) => !item.textContent?.includes("uploading"))).toBe(true));
  const [removal] = screen.getAllByRole("button", { name: /^Remove/ });
  if (removal) fireEvent.click(removal);
  fireEvent.keyDown(field, { key: "Enter" });
  await waitFor(() => expect(field.value).toBe(""));
  const prompt = asked.find((one) => one.path.endsWith("/prompt"));
  expect((prompt?.body as { attachments: string[] }).attachments).toHaveLength(1);
  expect(asked.some((one) => one.method === "DELETE")).toBe(true);
});

test("while a turn runs one can stop it, and prompts wait", () => {
  const onStop = vi.fn();
  render(<Writing isRunning onStop={onStop} />);
  fireEvent.click(screen.getByRole("button", { name: "Stop" }));
  expect(onStop).toHaveBeenCalledOnce();
  expect(screen.getByRole("button", { name: "Queue" })).toBeTruthy();
});
