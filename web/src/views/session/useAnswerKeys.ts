// The keys that answer: which question they are about, and when they count.
//
// It is the question that a person is at, else the first that can be seen, else the oldest,
// which the bar above the prompt shows. Only that one shows its keys, and only once they count.
// Nobody answers by key what cannot be seen: then the key brings it on the screen.
import { useMemo, useState } from "react";
import { useKeys, type Binding } from "../../parts/keys";
import { useSettled } from "../../parts/useSettled";
import { cutLine } from "../../render/visible";
import type { QuestionItem } from "../../session/items";
import { answer } from "./answering";
import type { CurrentQuestion } from "./context";
import type { KeyAnswer } from "./useLoneKey";
import type { QuestionOption } from "../../api/types";

/** The question that the keys are about. */
export function currentOf(
  waiting: readonly QuestionItem[],
  onScreen: ReadonlySet<string>,
  at: string | undefined,
): QuestionItem | undefined {
  return waiting.find((each) => each.requestId === at) ?? waiting.find((each) => onScreen.has(each.requestId)) ?? waiting[0];
}

/** The option that a key takes. */
export function optionFor(key: string, options: readonly QuestionOption[]): QuestionOption | undefined {
  if (/^[1-9]$/.test(key)) return options[Number(key) - 1];
  if (key === "y") return plainYes(options);
  if (key === "n") return options.find((option) => option.kind === "reject_once");
  return undefined;
}

/** The option that a plain yes means: the first that allows once. Where several do and none lasts, each is the answer to a question. */
function plainYes(options: readonly QuestionOption[]): QuestionOption | undefined {
  const once = options.filter((option) => option.kind === "allow_once");
  const isGrant = options.some((option) => option.kind === "allow_always");
  return once.length === 1 || isGrant ? once[0] : undefined;
}

interface AnswerKeys {
  question: QuestionItem | undefined;
  current: CurrentQuestion;
  /** The action of a key pressed in an empty prompt, if it answers. */
  answerFor: (key: string) => KeyAnswer | undefined;
}

export function useAnswerKeys(
  session: string,
  waiting: readonly QuestionItem[],
  onScreen: ReadonlySet<string>,
  show: (question: QuestionItem) => void,
): AnswerKeys {
  const [at, setAt] = useState<string>();
  const question = currentOf(waiting, onScreen, at);
  const isSeen = question !== undefined && onScreen.has(question.requestId);
  const { isSettled } = useSettled(question && `${question.requestId} ${isSeen ? "seen" : "unseen"}`);
  const answerFor = (key: string): KeyAnswer | undefined => {
    const option = question && isSettled ? optionFor(key, question.options) : undefined;
    if (!question || !option) return undefined;
    const { requestId } = question;
    if (!isSeen) return { requestId, run: () => show(question) };
    return { requestId, run: () => answer(session, requestId, option.optionId, { optionId: option.optionId }) };
  };
  const bindings: Binding[] = keysOf(question?.options ?? []).flatMap(({ key, option }) => [
    { keys: key, label: `Answer: ${cutLine(option.name, 80)}`, run: () => answerFor(key)?.run(), isGrave: true },
    {
      keys: `alt+${key}`,
      label: `Answer while writing: ${cutLine(option.name, 80)}`,
      run: () => answerFor(key)?.run(),
      isGrave: true,
      inText: true,
      isSilent: key > "9",
    },
  ]);
  useKeys(bindings);
  const id = question?.requestId;
  const layoutKey = waiting.map((each) => each.requestId).join(" ");
  const hasKeys = isSettled && isSeen;
  const current = useMemo<CurrentQuestion>(() => ({ id, isSettled: hasKeys, layoutKey, select: setAt }), [id, hasKeys, layoutKey]);
  return { question, current, answerFor };
}

/** Each key that answers, with its option. */
export function keysOf(options: readonly QuestionOption[]): { key: string; option: QuestionOption }[] {
  return ["1", "2", "3", "4", "5", "6", "7", "8", "9", "y", "n"].flatMap((key) => {
    const option = optionFor(key, options);
    return option ? [{ key, option }] : [];
  });
}
