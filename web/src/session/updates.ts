// ACP's `session/update`s: what the agent says and does.
import type { LogEvent } from "../api/types";
import { placed, type Draft } from "./draft";
import type { AnswerItem, PlanEntry, ThoughtItem, ToolItem, ToolStatus } from "./items";
import { list, number, object, text, type Json } from "./read";
import { tell } from "./retold";
import { grow, NO_TEXT } from "./split";
import { keepTail, nameTerminals } from "./terminals";

export function applyUpdate(draft: Draft, event: LogEvent, update: Json): void {
  switch (event.kind) {
    case "agent_message_chunk":
      return answered(draft, event, object(update.content));
    case "agent_thought_chunk":
      return said(draft, event, object(update.content), "thought");
    case "user_message_chunk":
      return replayedPrompt(draft, event, object(update.content));
    case "tool_call":
    case "tool_call_update":
      return toolCall(draft, event, update);
    case "plan":
      return plan(draft, event, update);
    case "usage_update":
      return usage(draft, update);
    case "available_commands_update":
      draft.commands = list(update.availableCommands).flatMap((each) => {
        const command = object(each);
        const name = text(command.name);
        if (name === undefined) return [];
        return [{ name, description: text(command.description) ?? "", hint: text(object(command.input).hint) }];
      });
      return;
    case "current_mode_update":
    case "config_option_update":
      draft.settings += 1;
      return;
    case "session_info_update":
      draft.title = text(update.title) ?? draft.title;
      return;
    case "notice":
      return draft.notice(event, {
        tone: toneOf(text(update.severity)),
        title: text(update.title) ?? "Notice of the agent",
        detail: text(update.description),
      });
    case "compaction_update":
      if (text(update.status) === "in_progress") return;
      return draft.notice(event, {
        tone: update.status === "failed" ? "warning" : "info",
        title: update.status === "failed" ? "The agent could not shorten its memory" : "The agent shortened its memory of the session",
      });
    case "compaction_summary_chunk":
      return; // the raw events have it
    default:
      // Something of a newer agent: nobody knows what it means, and nothing is hidden.
      return draft.notice(event, {
        tone: "info",
        title: `Update of the agent: ${event.kind}`,
        more: JSON.stringify(Object.keys(update).length > 0 ? update : event.payload, null, 2),
      });
  }
}

/** What was told before, by an attempt that was broken off, is not told again. */
function answered(draft: Draft, event: LogEvent, block: Json): void {
  const words = block.type === "text" ? text(block.text) : undefined;
  if (words === undefined) return said(draft, event, block, "answer");
  const { retold, added } = tell(draft.retold, words);
  draft.retold = retold;
  said(draft, event, { ...block, text: added }, "answer");
}

function said(draft: Draft, event: LogEvent, block: Json, type: "answer" | "thought"): void {
  const words = text(block.text);
  if (block.type !== "text" || words === undefined) {
    if (Object.keys(block).length > 0) draft.push({ type: "content", ...placed(event), block });
    return;
  }
  const last = draft.last;
  if (last?.type === type && last.turn === event.turn) {
    if (last.type === "answer") draft.change<AnswerItem>(draft.lastPlace, { text: grow(last.text, words) });
    else draft.change<ThoughtItem>(draft.lastPlace, { text: last.text + words, until: event.time });
    return;
  }
  // An empty chunk is no answer yet.
  if (words === "") return;
  if (type === "answer") draft.push({ type, ...placed(event), text: grow(NO_TEXT, words) });
  else draft.push({ type, ...placed(event), text: words, until: event.time });
}

/** What an agent tells of a past that was not lived here. */
function replayedPrompt(draft: Draft, event: LogEvent, block: Json): void {
  const last = draft.last;
  if (last?.type === "prompt" && last.key.startsWith("r")) {
    draft.change(draft.lastPlace, { blocks: [...last.blocks, block] });
  } else draft.push({ type: "prompt", ...placed(event), key: `r${event.seq}`, blocks: [block] });
}

const STATUSES: readonly string[] = ["pending", "in_progress", "completed", "failed"];

function toolCall(draft: Draft, event: LogEvent, update: Json): void {
  const id = text(update.toolCallId);
  if (id === undefined) return;
  let place = draft.toolPlace(id);
  // Some agents count their calls anew in each turn: an id that comes again as a new call
  // after its end is another call.
  const before = place === undefined ? undefined : draft.at(place);
  if (before && event.kind === "tool_call" && before.turn !== event.turn) place = undefined;
  if (place === undefined) {
    place = draft.push({
      type: "tool",
      ...placed(event),
      id,
      title: "",
      kind: "other",
      status: "pending",
      content: [],
      locations: [],
      terminal: "",
    });
    draft.noteTool(id, place);
    draft.noteOpen(id, draft.running !== undefined);
  }
  const item = draft.at(place);
  if (item?.type !== "tool") return;
  const changes = changesOf(item, event, update);
  draft.change<ToolItem>(place, changes);
  if (changes.content) nameTerminals(draft, place, changes.content);
  if (changes.status) draft.noteOpen(id, changes.status === "pending" || changes.status === "in_progress");
}

function changesOf(item: ToolItem, event: LogEvent, update: Json): Partial<ToolItem> {
  const changes: Partial<ToolItem> = {};
  const title = text(update.title);
  if (title !== undefined) changes.title = title;
  const kind = text(update.kind);
  if (kind !== undefined) changes.kind = kind;
  const status = text(update.status);
  if (status !== undefined && STATUSES.includes(status)) {
    changes.status = status as ToolStatus;
    if (status === "completed" || status === "failed") {
      changes.until = event.time;
      changes.endSeq = event.seq;
    }
  }
  if (update.rawInput !== undefined && update.rawInput !== null) changes.input = update.rawInput;
  if (update.rawOutput !== undefined && update.rawOutput !== null) changes.output = update.rawOutput;
  if (Array.isArray(update.content)) changes.content = update.content.map(object);
  if (Array.isArray(update.locations)) {
    changes.locations = update.locations.flatMap((each) => {
      const path = text(object(each).path);
      return path === undefined ? [] : [{ path, line: number(object(each).line) }];
    });
  }
  const meta = object(update._meta);
  const parent = text(object(meta.claudeCode).parentToolUseId) ?? text(object(meta.switchyard).parentToolCallId);
  if (parent !== undefined) changes.parent = parent;
  const printed = text(object(meta.terminal_output).data);
  if (printed !== undefined) changes.terminal = keepTail(item.terminal + printed);
  const exit = object(meta.terminal_exit);
  if (Object.keys(exit).length > 0) changes.exit = { code: number(exit.exit_code), signal: text(exit.signal) };
  return changes;
}

function plan(draft: Draft, event: LogEvent, update: Json): void {
  const entries: PlanEntry[] = list(update.entries).map((each) => {
    const entry = object(each);
    return { content: text(entry.content) ?? "", status: text(entry.status) ?? "pending", priority: text(entry.priority) };
  });
  if (draft.planPlace === undefined) {
    draft.planPlace = draft.push({ type: "plan", ...placed(event), entries });
  } else draft.change(draft.planPlace, { entries });
  const item = draft.at(draft.planPlace);
  if (item?.type === "plan") draft.plan = { ...item };
}

function usage(draft: Draft, update: Json): void {
  const cost = object(update.cost);
  const amount = number(cost.amount);
  const told = draft.usage.cost?.amount ?? 0;
  // Less than before: the agent began to count anew.
  const isAnew = amount !== undefined && amount < told;
  draft.usage = {
    costBefore: (draft.usage.costBefore ?? 0) + (isAnew ? told : 0),
    used: number(update.used) ?? draft.usage.used,
    size: number(update.size) ?? draft.usage.size,
    cost: amount === undefined ? draft.usage.cost : { amount, currency: text(cost.currency) ?? "USD" },
  };
}

function toneOf(severity: string | undefined): "info" | "warning" | "error" {
  return severity === "warning" || severity === "error" ? severity : "info";
}
