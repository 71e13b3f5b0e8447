// The questions of all sessions as they are shown, and which of them the keys are about.
import type { Permission } from "../api/types";
import type { QuestionItem } from "../session/items";
import { object, text } from "../api/json";

/** Whether all of the question can be read here. What only the session shows is not answered here. */
export function isShown(question: Permission): boolean {
  return question.request !== undefined && question.request !== null;
}

/** A question in the shape that a session's conversation has it. */
export function itemOf(question: Permission): QuestionItem {
  const call = object(object(question.request).toolCall);
  const ours = object(object(call._meta).switchyard);
  return {
    type: "question",
    key: question.requestId,
    seq: question.seq,
    time: question.since,
    turn: question.turnId ?? undefined,
    requestId: question.requestId,
    form: question.kind === "elicitation" ? "elicitation" : "permission",
    isForPerson: true,
    limit: text(ours.limit) as QuestionItem["limit"],
    title: question.title,
    request: object(question.request),
    options: question.options,
    toolCallId: text(call.toolCallId),
  };
}

/**
 * The question that is chosen when the list has changed: the same, or if it is gone the one
 * that has taken its place.
 */
export function chosenAfter(before: readonly string[], after: readonly string[], chosen: string | undefined): string | undefined {
  if (chosen !== undefined && after.includes(chosen)) return chosen;
  const at = chosen === undefined ? -1 : before.indexOf(chosen);
  if (at < 0) return after[0];
  // Those after it have moved up, as far as they are still there.
  const next = before.slice(at + 1).find((id) => after.includes(id));
  return next ?? after.at(-1);
}

export function stepFrom(ids: readonly string[], chosen: string | undefined, step: 1 | -1): string | undefined {
  const at = chosen === undefined ? -1 : ids.indexOf(chosen);
  return ids[Math.min(ids.length - 1, Math.max(0, at + step))];
}

/** `rejected in 9 min if nobody answers` */
export function deadline(until: number | null | undefined, now: number): string | undefined {
  if (until === undefined || until === null) return undefined;
  const seconds = Math.max(0, Math.round((until - now) / 1000));
  const left = seconds >= 90 ? `${Math.round(seconds / 60)} min` : "about a minute";
  return seconds === 0 ? "is being rejected" : `rejected in ${left} if nobody answers`;
}
