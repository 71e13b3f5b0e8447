import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ConversationChanges, LogEvent } from "../api/types";
import { empty, type Conversation, type Item } from "./items";
import { apply } from "./apply";
import { changesOf, conversationFromDaemon } from "./testing";
import { arbitraryLog, log, update } from "./samples";
import { wholeText } from "./split";

function items(events: LogEvent[]): Item[] {
  return [...conversationFromDaemon(empty(), events).items];
}

const START = [
  ["prompt_received", { by: "admin", prompt: [{ type: "text", text: "hello" }] }, "t1"],
  ["turn_started", {}, "t1"],
] as const;

describe("what is said", () => {
  test("chunks are one answer, also with an empty one between", () => {
    const all = items(log(...START, say("Hel"), say(""), say("lo"), end("t1")));
    expect(all.map((item) => item.type)).toEqual(["prompt", "answer", "end"]);
    expect(all[1]).toMatchObject({ text: { open: "Hello" } });
  });

  test("a tool call divides two answers", () => {
    const all = items(log(...START, say("a"), update("tool_call", { toolCallId: "c", title: "x" }), say("b")));
    expect(all.map((item) => item.type)).toEqual(["prompt", "answer", "tool", "answer"]);
  });

  test("thoughts and answers are apart", () => {
    const all = items(log(...START, think("hm"), say("a"), think("ah")));
    expect(all.map((item) => item.type)).toEqual(["prompt", "thought", "answer", "thought"]);
  });
});

describe("tool calls", () => {
  test("an update changes its call and nothing else", () => {
    const [call] = items(
      log(
        update("tool_call", { toolCallId: "c", title: "Read", kind: "read", rawInput: { path: "a" } }),
        update("tool_call_update", { toolCallId: "c", status: "completed", content: [{ type: "content" }] }),
      ),
    );
    expect(call).toMatchObject({ type: "tool", title: "Read", status: "completed", input: { path: "a" }, content: [{ type: "content" }] });
  });

  test("an update of a call that was never announced is shown", () => {
    expect(items(log(update("tool_call_update", { toolCallId: "c", status: "failed" })))).toMatchObject([
      { type: "tool", status: "failed" },
    ]);
  });

  test("a call without an end is over with its turn", () => {
    const all = items(log(...START, update("tool_call", { toolCallId: "c", status: "in_progress" }), end("t1")));
    expect(all[1]).toMatchObject({ status: "abandoned" });
  });

  test("an id that comes again in another turn is another call", () => {
    const all = items(
      log(
        update("tool_call", { toolCallId: "c", title: "one" }, "t1"),
        update("tool_call", { toolCallId: "c", title: "two" }, "t2"),
        update("tool_call_update", { toolCallId: "c", status: "completed" }, "t2"),
      ),
    );
    expect(all).toMatchObject([
      { title: "one", status: "pending" },
      { title: "two", status: "completed" },
    ]);
  });
});

describe("the queue", () => {
  const queued = log(...START, ["prompt_received", { by: "eve", prompt: [{ type: "text", text: "next" }] }, "t2"], say("still one", "t1"));

  test("a prompt that waits is no part of the running answer", () => {
    const now = conversationFromDaemon(empty(), queued);
    expect(now.queue).toMatchObject([{ turn: "t2", by: "eve" }]);
    expect(now.items.map((item) => item.type)).toEqual(["prompt", "answer"]);
  });

  test("it takes its place when its turn starts", () => {
    const after = conversationFromDaemon(conversationFromDaemon(empty(), queued), next(queued, end("t1"), ["turn_started", {}, "t2"]));
    expect(after.queue).toEqual([]);
    expect(after.items.map((item) => item.type)).toEqual(["prompt", "answer", "end", "prompt"]);
    expect(after.running).toMatchObject({ turn: "t2" });
  });

  test("one that is dropped leaves a note", () => {
    const after = conversationFromDaemon(
      conversationFromDaemon(empty(), queued),
      next(queued, ["prompt_dropped", { reason: "cancelled" }, "t2"]),
    );
    expect(after.queue).toEqual([]);
    expect(after.items.at(-1)).toMatchObject({ type: "notice", words: "next" });
  });
});

describe("questions", () => {
  const request = { toolCall: { toolCallId: "c", title: "Run rm" }, options: [{ optionId: "o", name: "Allow", kind: "allow_once" }] };
  const asked = log(...START, ["permission_requested", { requestId: "q", ask: true, request }, "t1"]);

  test("one that waits is listed until it is answered, and says by whom", () => {
    const waiting = conversationFromDaemon(empty(), asked);
    expect(waiting.waiting).toMatchObject([{ requestId: "q", title: "Run rm", options: [{ optionId: "o" }] }]);
    const answered = conversationFromDaemon(
      waiting,
      next(asked, [
        "permission_resolved",
        { requestId: "q", by: { who: "client", detail: "token:eve http" }, allowed: true, outcome: { name: "Allow" } },
        "t1",
      ]),
    );
    expect(answered.waiting).toEqual([]);
    expect(answered.items.at(-1)).toMatchObject({
      resolution: { who: "client", detail: "token:eve http", allowed: true, choice: "Allow" },
    });
    expect(waiting.items.at(-1)).not.toHaveProperty("resolution");
  });

  test("one that a rule decides does not wait for a person", () => {
    expect(conversationFromDaemon(empty(), log(["permission_requested", { requestId: "q", ask: false, request }, "t1"])).waiting).toEqual(
      [],
    );
  });
});

test("a plan is one item in its turn and follows its progress", () => {
  const entries = (status: string) => ({ entries: [{ content: "look", status }] });
  const now = conversationFromDaemon(
    empty(),
    log(...START, update("plan", entries("pending")), say("a"), update("plan", entries("completed"))),
  );
  expect(now.items.map((item) => item.type)).toEqual(["prompt", "plan", "answer"]);
  expect(now.plan?.entries).toMatchObject([{ status: "completed" }]);
});

test("an unknown update is shown and not hidden", () => {
  expect(items(log(update("brand_new", { x: 1 })))).toMatchObject([{ type: "notice", title: "update of the agent: brand_new" }]);
});

describe("whatever the log holds", () => {
  test("any cut into batches, with overlaps and replays, gives the same conversation", () => {
    fc.assert(
      fc.property(arbitraryLog, fc.array(fc.tuple(fc.nat(40), fc.nat(40))), (events, reads) => {
        const whole = conversationFromDaemon(empty(), events);
        let now = empty();
        for (const [back, ahead] of reads) now = conversationFromDaemon(now, events.slice(Math.max(0, now.seq - back), now.seq + ahead));
        now = conversationFromDaemon(now, events.slice(now.seq));
        expect(plain(now)).toEqual(plain(whole));
        expect(conversationFromDaemon(now, events)).toBe(now);
      }),
    );
  });

  test("a conversation that was shown is never changed afterwards", () => {
    fc.assert(
      fc.property(arbitraryLog, fc.nat(60), (events, cut) => {
        const shown = conversationFromDaemon(empty(), events.slice(0, cut));
        const copy = structuredClone(plain(shown));
        conversationFromDaemon(shown, events.slice(cut));
        expect(plain(shown)).toEqual(copy);
      }),
    );
  });

  test("keys are unique and items only come at the end", () => {
    fc.assert(
      fc.property(arbitraryLog, fc.nat(60), (events, cut) => {
        const before = conversationFromDaemon(empty(), events.slice(0, cut));
        const after = conversationFromDaemon(before, events.slice(cut));
        const keys = after.items.map((item) => item.key);
        expect(new Set(keys).size).toBe(keys.length);
        expect(keys.slice(0, before.items.length)).toEqual(before.items.map((item) => item.key));
      }),
    );
  });

  test("nothing that was said is lost", () => {
    fc.assert(
      fc.property(arbitraryLog, (events) => {
        const said = events.filter((event) => event.kind === "agent_message_chunk");
        const words = said.map((event) => (event.payload as { update: { content: { text: string } } }).update.content.text).join("");
        const shown = conversationFromDaemon(empty(), events).items.flatMap((item) =>
          item.type === "answer" ? [wholeText(item.text)] : [],
        );
        expect(shown.join("")).toBe(words);
      }),
    );
  });
});

test("payloads of any shape are survived", () => {
  const kinds = [
    "prompt_received",
    "turn_ended",
    "tool_call",
    "permission_requested",
    "permission_resolved",
    "plan",
    "usage_update",
    "option_set",
    "worker_exited",
    "agent_message_chunk",
    "whatever",
  ];
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...kinds), fc.jsonValue())), (all) => {
      const events = all.map(([kind, payload], i) => ({ seq: i + 1, time: i, kind, payload }));
      expect(conversationFromDaemon(empty(), events).seq).toBe(events.length);
    }),
  );
});

test("fifty thousand events in small batches take no quadratic time", () => {
  const many = log(
    ...START,
    ...Array.from({ length: 50_000 }, (_, i) => (i % 10 === 0 ? update("tool_call", { toolCallId: `c${i}` }) : say("word "))),
  );
  const changes = changesOf(many);
  let now = empty();
  for (let i = 0; i < changes.length; i += 200) now = apply(now, changes.slice(i, i + 200));
  expect(now.items.length).toBeGreaterThan(9_000);
});

function say(text: string, turn = "t1") {
  return update("agent_message_chunk", { content: { type: "text", text } }, turn);
}

function think(text: string) {
  return update("agent_thought_chunk", { content: { type: "text", text } });
}

function end(turn: string) {
  return ["turn_ended", { stopReason: "end_turn" }, turn] as const;
}

/** Events that follow on a log. */
function next(before: LogEvent[], ...more: Parameters<typeof log>): LogEvent[] {
  return log(...more).map((event) => ({ ...event, seq: event.seq + before.length }));
}

function plain(now: Conversation) {
  return {
    ...now,
    places: { ...now.places, items: undefined, tools: [...now.places.tools], questions: [...now.places.questions] },
  };
}

test("a call that a sub-agent makes is part of the call that it works for", () => {
  const events = log(
    update("tool_call", { toolCallId: "a", title: "Task" }),
    update("tool_call", { toolCallId: "b", title: "Read", _meta: { switchyard: { parentToolCallId: "a" } } }),
    update("tool_call", { toolCallId: "c", title: "Read", _meta: { claudeCode: { parentToolUseId: "a" } } }),
  );
  const parents = conversationFromDaemon(empty(), events).items.map((item) => (item.type === "tool" ? item.parent : "none"));
  expect(parents).toEqual([undefined, "a", "a"]);
});

test("a change that this page cannot read is said, and the next is shown", () => {
  const answer = { type: "item", item: { type: "answer", key: "e2", seq: 2, time: 2, text: "hi" } };
  const changes = [
    { seq: 1, time: 1, changes: [{ type: "of_a_newer_daemon" }, { type: "item" }] },
    { seq: 2, time: 2, changes: [answer] },
  ] as unknown as ConversationChanges[];
  const { items } = apply(empty(), changes);
  expect(items.map((item) => item.type)).toEqual(["notice", "notice", "answer"]);
  expect(items[0]).toMatchObject({ tone: "warning", detail: "reload the page" });
});
