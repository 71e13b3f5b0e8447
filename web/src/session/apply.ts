// Changes of a conversation in, the conversation out. The daemon has worked out what events mean;
// here items are put below each other, replaced and made longer. Pure: the same changes give the
// same conversation, however they are cut into batches; changes that were applied already change
// nothing.
import type { ApiToolItem, ConversationChange, ConversationChanges, ApiItem } from "../api/types";
import { ConversationDraft } from "./draft";
import type { AnswerItem, Conversation, Item, NoticeItem, QuestionItem, ThoughtItem, ToolItem } from "./items";
import { list, object } from "../api/json";
import { grow, NO_TEXT } from "./split";
import { ended, keepTail, loseTerminals, lost, nameTerminals, printed } from "./terminals";

export function apply(before: Conversation, all: readonly ConversationChanges[]): Conversation {
  let draft: ConversationDraft | undefined;
  for (const { seq, time, changes } of all) {
    if (seq <= (draft ?? before).seq) continue;
    draft ??= new ConversationDraft(before);
    draft.seq = seq;
    for (const [n, change] of changes.entries()) {
      if (applied(draft, change, time)) continue;
      const key = `unread${seq}.${n}`;
      draft.push({ type: "notice", key, seq, time, tone: "warning", title: "this page cannot show a change", detail: "reload the page" });
    }
  }
  return draft ? draft.done() : before;
}

/** Whether the change could be applied: a newer daemon may send one that this page cannot read. */
function applied(draft: ConversationDraft, change: ConversationChange, time: number): boolean {
  try {
    applyOne(draft, change, time);
    return true;
  } catch {
    return false;
  }
}

function applyOne(draft: ConversationDraft, change: ConversationChange, time: number): void {
  switch (change.type) {
    case "item":
      return added(draft, change.item);
    case "replace":
      return replaced(draft, change.item);
    case "tool":
      return changedTool(draft, change.key, change.tool);
    case "append":
      return appended(draft, change.key, change.text, time);
    case "terminal":
      if (change.isLost) return lost(draft, change.id);
      return change.exit ? ended(draft, change.id, change.exit, change.isTruncated ?? false) : printed(draft, change.id, change.text ?? "");
    case "terminals_lost":
      return loseTerminals(draft);
    case "state": {
      const { running, queue, commands, title, usage, hasNewSettings } = change;
      if (running !== undefined) {
        // The plan of an earlier turn says nothing about this one.
        if (running && running.turn !== draft.running?.turn) draft.plan = undefined;
        draft.running = running ?? undefined;
      }
      if (queue) draft.queue = queue;
      if (commands) draft.commands = commands;
      if (title !== undefined) draft.title = title;
      if (usage) draft.usage = usage;
      if (hasNewSettings) draft.settings += 1;
      return;
    }
    default:
      throw new Error("a change of no known type");
  }
}

function added(draft: ConversationDraft, received: ApiItem): void {
  const item = itemOf(draft, received);
  const place = draft.push(item);
  if (item.type === "question") draft.noteQuestion(item.requestId, place);
  if (item.type === "plan") draft.plan = item;
  if (item.type === "tool") {
    draft.noteTool(item.id, place);
    nameTerminals(draft, place, item.content);
  }
}

function itemOf(draft: ConversationDraft, received: ApiItem): Item {
  switch (received.type) {
    case "answer":
      return { ...received, text: grow(NO_TEXT, received.text) };
    case "thought":
      return { ...received, until: received.time };
    case "tool":
      return { title: "", kind: "other", status: "pending", content: [], locations: [], terminal: "", ...received } as ToolItem;
    case "question":
      return completed(draft, received);
    default:
      return received;
  }
}

function replaced(draft: ConversationDraft, received: ApiItem): void {
  const place = draft.place(received.key);
  if (place === undefined) return;
  const item = itemOf(draft, received);
  draft.change<Item>(place, item);
  if (item.type === "plan") draft.plan = item;
  if (item.type === "question" && item.resolution) draft.forgetQuestion(item.requestId);
}

function changedTool(draft: ConversationDraft, key: string, tool: ApiToolItem): void {
  const place = draft.place(key);
  if (place === undefined) return;
  draft.change<ToolItem>(place, tool);
  if (tool.content) nameTerminals(draft, place, tool.content);
}

function appended(draft: ConversationDraft, key: string, words: string, time: number): void {
  const place = draft.place(key);
  const item = place === undefined ? undefined : draft.at(place);
  if (place === undefined || !item) return;
  if (item.type === "answer") draft.change<AnswerItem>(place, { text: grow(item.text, words) });
  if (item.type === "thought") draft.change<ThoughtItem>(place, { text: item.text + words, until: time });
  if (item.type === "tool") draft.change<ToolItem>(place, { terminal: keepTail(item.terminal + words) });
  if (item.type === "notice") draft.change<NoticeItem>(place, { more: (item.more ?? "") + words });
}

/** Adds what the question leaves out and the call has reported before. */
function completed(draft: ConversationDraft, item: QuestionItem): QuestionItem {
  const place = item.toolCallId === undefined ? undefined : draft.toolPlace(item.toolCallId);
  const known = place === undefined ? undefined : draft.at(place);
  if (known?.type !== "tool" || known.turn !== item.turn) return item;
  const call = object(item.request.toolCall);
  const or = (received: unknown, before: unknown) => (list(received).length > 0 ? received : before);
  const toolCall = {
    ...call,
    rawInput: call.rawInput ?? known.input,
    content: or(call.content, known.content),
    locations: or(call.locations, known.locations),
  };
  return { ...item, request: { ...item.request, toolCall } };
}
