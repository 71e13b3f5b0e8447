// @vitest-environment jsdom
// What a question shows, and which keys answer it.
import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { createRef, useState } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { listenToKeys } from "../../parts/keys";
import { SETTLE } from "../../parts/useSettled";
import type { QuestionItem } from "../../session/items";
import { empty } from "../../session/items";
import type { Json } from "../../api/json";
import { conversationFromDaemon } from "../../session/testing";
import { log, update } from "../../session/samples";
import { Composer } from "./Composer";
import { CurrentQuestionContext, SessionContext } from "./context";
import { QuestionCard } from "./Question";
import { currentOf, useAnswerKeys } from "./useAnswerKeys";
import { useAttachments } from "./useAttachments";
import { isSeen } from "./useOnScreen";
import { QuestionBar } from "./QuestionBar";

let answered: string[];
let stopKeys: () => void;
let n = 0;

beforeEach(() => {
  answered = [];
  sessionStorage.clear();
  stopKeys = listenToKeys();
  vi.useFakeTimers();
  // The clock of the test before was ahead of this one.
  fireEvent.keyDown(document.body, { key: "F9" });
  vi.advanceTimersByTime(1000);
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    answered.push(`${path.slice(path.lastIndexOf("/") + 1)} ${(JSON.parse(init.body as string) as { optionId: string }).optionId}`);
    return Promise.resolve(Response.json({}));
  });
});

afterEach(() => {
  cleanup();
  stopKeys();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const OPTIONS = [
  { optionId: "yes", name: "Allow once", kind: "allow_once" },
  { optionId: "no", name: "Reject", kind: "reject_once" },
];

function question(changes: Partial<QuestionItem> = {}, call: Json = {}): QuestionItem {
  const id = `k${++n}`;
  return {
    type: "question",
    key: id,
    seq: n,
    time: 0,
    requestId: id,
    form: "permission",
    isForPerson: true,
    title: "Do it?",
    request: { toolCall: call },
    options: OPTIONS,
    ...changes,
  };
}

let shown: string[] = [];

function Page({
  waiting,
  onScreen = new Set(waiting.map((each) => each.requestId)),
}: {
  waiting: QuestionItem[];
  onScreen?: ReadonlySet<string>;
}) {
  const { current, answerFor } = useAnswerKeys("s1", waiting, onScreen, (each) => shown.push(each.requestId));
  const attachments = useAttachments("s1");
  const [input] = useState(() => createRef<HTMLTextAreaElement>());
  return (
    <CurrentQuestionContext.Provider value={current}>
      {waiting.map((item) => (
        <QuestionCard key={item.key} item={item} />
      ))}
      <Composer
        session="s1"
        cwd="/"
        commands={[]}
        attachments={attachments}
        isRunning
        isStopping={false}
        isDisabled={false}
        input={input}
        answerFor={answerFor}
        onStop={() => undefined}
      />
    </CurrentQuestionContext.Provider>
  );
}

const settle = () => act(() => void vi.advanceTimersByTime(SETTLE + 1));

function press(key: string, more: { repeat?: boolean; after?: number } = {}): void {
  vi.advanceTimersByTime(more.after ?? 1000);
  fireEvent.keyDown(document.body, { key, repeat: more.repeat });
}

function type(key: string, after = 1000): void {
  const field = screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Prompt" });
  act(() => void vi.advanceTimersByTime(after));
  fireEvent.focus(field);
  fireEvent.keyDown(field, { key });
  fireEvent.change(field, { target: { value: field.value + key, selectionStart: field.value.length + 1 } });
}

test("a held key answers one question and not those that follow", () => {
  const [a, b] = [question(), question()];
  const page = render(<Page waiting={[a]} />);
  settle();
  press("y");
  page.rerender(<Page waiting={[b]} />);
  settle();
  for (let i = 0; i < 40; i++) press("y", { repeat: true });
  expect(answered).toEqual([`${a.requestId} yes`]);
});

test("a key that was meant for the question before does not answer the next", () => {
  const [a, b] = [question(), question()];
  const page = render(<Page waiting={[a]} />);
  settle();
  page.rerender(<Page waiting={[b]} />);
  // After a pause, so that nothing but the new question speaks against it.
  act(() => void vi.advanceTimersByTime(SETTLE / 2));
  fireEvent.keyDown(document.body, { key: "1" });
  expect(answered).toEqual([]);
  settle();
  press("1");
  expect(answered).toEqual([`${b.requestId} yes`]);
});

test("a second click that falls on the next question's button answers nothing", () => {
  const [a, b, c] = [question(), question(), question()];
  const allow = (place = 0) => screen.getAllByRole("button", { name: "Allow once" })[place] as HTMLElement;
  const page = render(<Page waiting={[a, b]} />);
  fireEvent.click(allow());
  expect(answered).toEqual([]);
  expect(allow().getAttribute("aria-disabled")).toBe("true");
  settle();
  expect(allow(1).getAttribute("aria-disabled")).toBeNull();
  fireEvent.click(allow());
  // The second was there all the time, and is now where the first one was.
  page.rerender(<Page waiting={[b]} />);
  fireEvent.click(allow());
  page.rerender(<Page waiting={[b, c]} />);
  fireEvent.click(allow());
  expect(answered).toEqual([`${a.requestId} yes`]);
  settle();
  fireEvent.click(allow());
  expect(answered).toEqual([`${a.requestId} yes`, `${b.requestId} yes`]);
});

test("a form that has only now come is not sent", () => {
  render(<Page waiting={[question({ form: "elicitation", request: { message: "Who?" } })]} />);
  fireEvent.click(screen.getByRole("button", { name: "Decline" }));
  expect(answered).toEqual([]);
  settle();
  fireEvent.click(screen.getByRole("button", { name: "Decline" }));
  expect(answered).toHaveLength(1);
});

test("a key brings a question on the screen before one can answer it", () => {
  const item = question();
  shown = [];
  const page = render(<Page waiting={[item]} onScreen={new Set()} />);
  settle();
  expect(page.container.querySelectorAll("kbd")).toHaveLength(0);
  press("y");
  expect([shown, answered]).toEqual([[item.requestId], []]);
  type("1");
  settle();
  expect([shown, answered]).toEqual([[item.requestId, item.requestId], []]);
  page.rerender(<Page waiting={[item]} />);
  fireEvent.keyDown(document.body, { key: "y" });
  expect(answered).toEqual([]);
  settle();
  press("y");
  expect(answered).toEqual([`${item.requestId} yes`]);
});

test("a card is seen when most of it is, or when it fills the screen", () => {
  const seen = (intersectionRatio: number, height: number) =>
    isSeen({ intersectionRatio, intersectionRect: { height } as DOMRectReadOnly, rootBounds: { height: 800 } as DOMRectReadOnly });
  expect(seen(0.7, 100)).toBe(true);
  expect(seen(0.1, 600)).toBe(true);
  expect(seen(0.3, 100)).toBe(false);
  expect(isSeen(undefined)).toBe(false);
});

test("the bar says what would be done, whatever the title says", () => {
  const bar = (call: Json) => {
    cleanup();
    const item = question({ title: "Harmless" }, call);
    return render(<QuestionBar questions={[item]} total={1} onShow={() => undefined} />).container.textContent;
  };
  expect(bar({ rawInput: { command: "rm -rf /\n# x" } })).toContain("rm -rf /");
  expect(bar({ locations: [{ path: "/etc/a" }, { path: "/etc/b" }] })).toContain("/etc/a and 1 more");
  expect(bar({ content: [{ type: "diff", path: "/etc/c", newText: "" }] })).toContain("/etc/c");
});

test("keys within a word answer nothing", () => {
  render(<Page waiting={[question()]} />);
  settle();
  for (const key of "hey you") press(key, { after: 80 });
  expect(answered).toEqual([]);
});

test("keys are for the question that one is at, else for the first that can be seen", () => {
  const [a, b, c] = [question(), question(), question()];
  expect(currentOf([a, b, c], new Set(), undefined)).toBe(a);
  expect(currentOf([a, b, c], new Set([b.requestId, c.requestId]), undefined)).toBe(b);
  expect(currentOf([a, b, c], new Set([b.requestId]), c.requestId)).toBe(c);
  expect(currentOf([], new Set([b.requestId]), c.requestId)).toBeUndefined();

  const { container } = render(<Page waiting={[a, b, c]} />);
  const third = container.querySelectorAll<HTMLElement>(".question-card button")[4];
  act(() => third?.focus());
  settle();
  expect([...container.querySelectorAll(".question-card")].map((card) => card.querySelectorAll("kbd").length)).toEqual([0, 0, 2]);
  press("2");
  expect(answered).toEqual([`${c.requestId} no`]);
});

test("in the empty prompt a single key answers after a pause, and leaves nothing written", () => {
  const item = question();
  render(<Page waiting={[item]} />);
  settle();
  type("y");
  expect(answered).toEqual([]);
  settle();
  expect(answered).toEqual([`${item.requestId} yes`]);
  expect(screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Prompt" }).value).toBe("");
});

test("in the empty prompt a key that follows others is written, not an answer", () => {
  render(<Page waiting={[question()]} />);
  settle();
  type("a");
  const field = screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Prompt" });
  fireEvent.keyDown(field, { key: "Backspace" });
  fireEvent.change(field, { target: { value: "", selectionStart: 0 } });
  type("y", 100);
  settle();
  expect(answered).toEqual([]);
  expect(field.value).toBe("y");
});

test("whoever writes a prompt while a question waits or comes answers nothing", () => {
  const item = question();
  const page = render(<Page waiting={[item]} />);
  settle();
  for (const key of "yes, do") type(key, 120);
  settle();
  expect(screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Prompt" }).value).toBe("yes, do");

  page.unmount();
  sessionStorage.clear();
  const next = render(<Page waiting={[]} />);
  type("1");
  next.rerender(<Page waiting={[question()]} />);
  settle();
  settle();
  expect(answered).toEqual([]);
});

function draw(item: QuestionItem) {
  return render(
    <SessionContext.Provider value={{ id: "s1", cwd: "/home/me", folds: new Map(), fork: () => undefined, noteOnScreen: () => undefined }}>
      <QuestionCard item={item} />
    </SessionContext.Provider>,
  );
}

test("a question without a command shows its input, its content and its changes", () => {
  const { container } = draw(
    question(
      {},
      {
        rawInput: { url: "https://evil.example", method: "PUT" },
        content: [
          { type: "content", content: { type: "text", text: "uploads **all**" } },
          { type: "diff", path: "/home/me/a", oldText: "x", newText: "y" },
        ],
      },
    ),
  );
  for (const words of ["uploads all", "Input as it came"]) expect(container.textContent).toContain(words);
  expect(screen.getByRole("figure", { name: "Changes of a" })).toBeTruthy();
  cleanup();
  draw(question({}, { rawInput: { url: "https://evil.example" } }));
  expect(screen.getByRole("group", { name: "Input" }).textContent).toContain("https://evil.example");
});

test("a change does not stand for arguments that say something else", () => {
  const content = [{ type: "diff", path: "/home/me/safe", oldText: "a\n", newText: "b\n" }];
  const evil = { path: "/root/.bashrc", content: "EVIL", patch: "*** Delete File: HIDDEN" };
  draw(question({}, { content, rawInput: evil }));
  for (const words of Object.values(evil)) expect(screen.getByRole("group", { name: "Input" }).textContent).toContain(words);
  cleanup();
  draw(question({}, { content, rawInput: { file_path: "/home/me/safe", old_string: "a", new_string: "b" } }));
  expect(screen.queryByRole("group", { name: "Input" })).toBeNull();
  cleanup();
  draw(question({}, { rawInput: { command: "ls", cmd: "rm -rf ~" } }));
  expect(screen.getByRole("group", { name: "Input" }).textContent).toContain("rm -rf ~");
  cleanup();
  draw(question({}, { rawInput: { command: ["ls"], args: ["rm -rf ~"] } }));
  expect(screen.getByRole("group", { name: "Input" }).textContent).toContain("rm -rf ~");
  cleanup();
  const { container } = draw(question({}, { content: [{ type: "diff", path: "/home/me/a", patch: { text: "@@\n-a\n+EVIL" } }] }));
  expect(container.textContent).toContain("+EVIL");
});

test("every place is shown or counted", () => {
  const locations = Array.from({ length: 51 }, (_, i) => ({ path: `/home/me/f${i}` }));
  draw(question({}, { kind: "delete", locations }));
  fireEvent.click(screen.getByRole("button", { name: "Show 31 more of 51 places" }));
  expect(screen.getByRole("list", { name: "Places" }).textContent).toContain("f50");
  cleanup();
  const content = [{ type: "diff", path: "/home/me/f0", oldText: "a", newText: "b" }];
  draw(question({}, { kind: "move", content, locations: locations.slice(0, 2) }));
  expect(screen.getByRole("list", { name: "Places" }).textContent).toBe("f1");
});

test("what the question leaves out is taken from the call that it is about", () => {
  const events = log(update("tool_call", { toolCallId: "c", title: "Run", rawInput: { command: ["rm", "-rf", "a b"] } }), [
    "permission_requested",
    { requestId: "q", ask: true, request: { toolCall: { toolCallId: "c" }, options: OPTIONS } },
    "t1",
  ]);
  const item = conversationFromDaemon(empty(), events).waiting[0];
  if (item) draw(item);
  expect(screen.getByLabelText("Command").textContent).toBe("rm -rf 'a b'");
});

test("what a question says twice is shown once", () => {
  const content = ["```sh\necho hi\n```", "Say hello"].map((words) => ({ type: "content", content: { type: "text", text: words } }));
  const call = { rawInput: { command: "echo hi", description: "Say hello", cwd: "/w", timeout: 5 }, content };
  const context = { id: "s1", cwd: "/w", folds: new Map(), fork: () => undefined, noteOnScreen: () => undefined };
  render(
    <SessionContext.Provider value={context}>
      <QuestionCard item={question({}, call)} />
    </SessionContext.Provider>,
  );
  const words = document.body.textContent ?? "";
  for (const once of ["echo hi", "Say hello", "timeout"]) expect(words.split(once).length - 1, once).toBe(1);
  expect(words).not.toContain("/w");
});

test("an option whose name says what it does is not explained, any other is", () => {
  const named = (name: string, kind: string) => ({ optionId: name, name, kind });
  const plain = [
    named("Reject", "reject_once"),
    named("Always allow git in this session", "allow_always"),
    named("Allow once", "allow_once"),
  ];
  const doubtful = [named("Allow", "allow_always"), named("Reject once", "allow_once"), named("Read it", "allow_once")];
  render(<QuestionCard item={question({ options: [...plain, ...doubtful] })} />);
  const explained = [...document.querySelectorAll(".option-name")].map((each) => each.firstElementChild?.textContent);
  expect(explained).toEqual(doubtful.map((each) => each.name));
});

test("an option says what it does, whatever it is called", () => {
  draw(
    question({
      options: [
        { optionId: "a", name: "Reject", kind: "allow_always" },
        { optionId: "b", name: " ", kind: "reject_once" },
        { optionId: "c", name: "Allow once", kind: "allow_once" },
      ],
    }),
  );
  const [first, second, third] = screen.getAllByRole("button").map((button) => button.textContent);
  expect(first).toBe("Rejectallow always");
  expect(second).toContain("reject once");
  expect(third).toBe("Allow once");
});

test("giant parts of a question are cut, and nothing invisible gets into its name", () => {
  const word = "x".repeat(100_000);
  const { container } = draw(
    question(
      { title: "a\u202eb", options: [{ optionId: "a", name: word, kind: "allow_once" }] },
      { rawInput: { command: word }, locations: Array.from({ length: 5000 }, (_, i) => ({ path: `/${i}/${word}` })) },
    ),
  );
  expect(container.textContent.length).toBeLessThan(20_000);
  expect(container.querySelectorAll("li").length).toBeLessThan(50);
  expect(screen.getByRole("group", { name: "Question: a‹U+202E›b" })).toBeTruthy();
});
