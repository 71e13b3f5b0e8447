// Questions of the agent and of the session's limits, and how they were answered.
import type { LogEvent } from "../api/types";
import { placed, type Draft } from "./draft";
import type { QuestionItem, QuestionOption } from "./items";
import { list, number, object, text, type Json } from "./read";

export function askQuestion(draft: Draft, event: LogEvent, payload: Json): void {
  const requestId = text(payload.requestId);
  if (requestId === undefined) return;
  const request = object(payload.request);
  const call = object(request.toolCall);
  const form = event.kind === "elicitation_requested" ? "elicitation" : "permission";
  const toolCallId = text(call.toolCallId);
  const known = toolCallId === undefined ? undefined : draft.toolPlace(toolCallId);
  const knownItem = known === undefined ? undefined : draft.at(known);
  const title =
    form === "elicitation"
      ? text(request.message)
      : (text(call.title) ?? (knownItem?.type === "tool" ? knownItem.title : undefined));
  const item: QuestionItem = {
    type: "question",
    ...placed(event),
    requestId,
    form,
    isForPerson: payload.ask !== false,
    limit: text(payload.limit),
    title: title ?? "The agent asks for permission",
    request,
    options: optionsOf(request),
    toolCallId,
  };
  draft.noteQuestion(requestId, draft.push(item));
}

export function resolveQuestion(draft: Draft, event: LogEvent, payload: Json): void {
  const requestId = text(payload.requestId);
  const place = requestId === undefined ? undefined : draft.questionPlace(requestId);
  if (requestId === undefined || place === undefined) return;
  const by = object(payload.by);
  const outcome = object(payload.outcome);
  const rule = object(by.rule);
  const response = object(payload.response);
  draft.change<QuestionItem>(place, {
    resolution: {
      who: text(by.who) ?? "unknown",
      detail: text(by.detail),
      allowed: typeof payload.allowed === "boolean" ? payload.allowed : undefined,
      choice: text(outcome.name) ?? text(outcome.optionId) ?? text(outcome.outcome),
      response: event.kind === "elicitation_resolved" ? response : undefined,
      waitedMs: number(payload.waitedMs),
      rule: by.rule === undefined ? undefined : { file: text(rule.file), index: number(rule.index) },
    },
  });
  draft.forgetQuestion(requestId);
}

function optionsOf(request: Json): QuestionOption[] {
  return list(request.options).flatMap((each) => {
    const option = object(each);
    const optionId = text(option.optionId);
    if (optionId === undefined) return [];
    return [{ optionId, name: text(option.name) ?? optionId, kind: text(option.kind) ?? "" }];
  });
}
