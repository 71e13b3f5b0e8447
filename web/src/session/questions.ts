// Questions of the agent and of the session's limits, and how they were answered.
import type { LogEvent, Own } from "../api/types";
import { placed, type Draft } from "./draft";
import type { QuestionItem, QuestionOption, ToolItem } from "./items";
import { list, object, text, type Json } from "./read";

type Asked = Own<"permission_requested" | "elicitation_requested">;
type Resolved = Own<"permission_resolved" | "elicitation_resolved">;
type Resolution = NonNullable<QuestionItem["resolution"]>;

export function askQuestion(draft: Draft, event: LogEvent, payload: Asked, form: QuestionItem["form"]): void {
  const { requestId } = payload;
  const request = object(payload.request);
  const call = object(request.toolCall);
  const toolCallId = text(call.toolCallId);
  const known = toolCallId === undefined ? undefined : draft.toolPlace(toolCallId);
  const knownItem = known === undefined ? undefined : draft.at(known);
  const title =
    form === "elicitation" ? text(request.message) : (text(call.title) ?? (knownItem?.type === "tool" ? knownItem.title : undefined));
  const item: QuestionItem = {
    type: "question",
    ...placed(event),
    requestId,
    form,
    isForPerson: payload.ask,
    limit: "limit" in payload ? payload.limit : undefined,
    title: title ?? "The agent asks for permission",
    request: knownItem?.type === "tool" ? { ...request, toolCall: completed(call, knownItem) } : request,
    options: optionsOf(request),
    toolCallId,
  };
  if (item.isForPerson && known !== undefined && knownItem?.type === "tool") draft.change<ToolItem>(known, { isAsked: true });
  draft.noteQuestion(requestId, draft.push(item));
}

export function resolveQuestion(
  draft: Draft,
  event: LogEvent,
  { requestId, by, waitedMs }: Resolved,
  answer: Pick<Resolution, "allowed" | "choice" | "response">,
): void {
  const place = draft.questionPlace(requestId);
  if (place === undefined) return;
  const asked = draft.at(place);
  const call = asked?.type === "question" && asked.toolCallId !== undefined ? draft.toolPlace(asked.toolCallId) : undefined;
  const tool = call === undefined ? undefined : draft.at(call);
  if (call !== undefined && tool?.type === "tool" && asked) {
    // What was asked before the call was known is no time of its.
    const waited = asked.seq > tool.seq ? event.time - asked.time : 0;
    draft.change<ToolItem>(call, { isAsked: false, waitedMs: (tool.waitedMs ?? 0) + Math.max(0, waited) });
  }
  draft.change<QuestionItem>(place, { resolution: { ...by, ...answer, waitedMs } });
  draft.forgetQuestion(requestId);
}

/** What the question leaves out and the call has told before. */
function completed(call: Json, known: ToolItem): Json {
  return {
    ...call,
    rawInput: call.rawInput ?? known.input,
    content: Array.isArray(call.content) && call.content.length > 0 ? call.content : known.content,
    locations: Array.isArray(call.locations) && call.locations.length > 0 ? call.locations : known.locations,
  };
}

function optionsOf(request: Json): QuestionOption[] {
  return list(request.options).flatMap((each) => {
    const option = object(each);
    const optionId = text(option.optionId);
    if (optionId === undefined) return [];
    return [{ optionId, name: text(option.name) ?? optionId, kind: text(option.kind) ?? "" }];
  });
}
