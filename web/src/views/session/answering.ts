// Answers that are on their way to the daemon, whichever button or key gave them: a question
// is answered once, and everybody who shows it knows that it is being answered.
import { nameOf } from "../../api/people";
import { useSyncExternalStore } from "react";
import { forgetQuestion, readQuestions } from "../../api/live";
import { asProblem, type Problem } from "../../api/problem";
import type { PermissionAnswer } from "../../api/types";
import { tellDone } from "../../parts/toasts";
import { visible } from "../../render/visible";
import { answerQuestion } from "../../session/actions";

export interface Answering {
  /** The option that was taken; missing when no answer is on its way. */
  busy?: string;
  problem?: Problem;
}

const NOTHING: Answering = {};
// Answers that are kept; those before are over long since.
const MAX_KEPT = 100;
const kept = new Map<string, Answering>();
const readers = new Set<() => void>();

export function useAnswering(requestId: string): Answering {
  return useSyncExternalStore(subscribe, () => kept.get(requestId) ?? NOTHING);
}

/** `name` is the option's, so that its button can show that it was taken. */
export function answer(session: string, requestId: string, name: string, body: PermissionAnswer): void {
  if (kept.get(requestId)?.busy !== undefined) return;
  set(requestId, { busy: name });
  answerQuestion(session, requestId, body).then(
    // The card changes with the event that says so; until then it stays busy.
    () => forgetQuestion(requestId),
    (error: unknown) => {
      const problem = asProblem(error);
      const isOver = problem.code === "already-decided" || problem.code === "not-pending";
      // Somebody else answered: that is no error, and the card goes with the event that reports it.
      if (isOver) tellDone(decidedWords(problem));
      set(requestId, isOver ? { busy: name } : { problem });
      void readQuestions();
    },
  );
}

/** The words for a question that somebody else answered: `client token:eve http decided: Reject`. */
export function decidedWords(problem: Problem): string {
  const decided = /^(\S+) ?(.*) decided: (.*)$/s.exec(problem.detail ?? "");
  if (!decided) return "Nobody waits for this answer any more.";
  const [, who = "", detail = "", what = ""] = decided;
  const name = who === "client" ? clientName(detail || undefined) : (DECIDERS[who] ?? who);
  return `Answered already, by ${visible(name)}: ${visible(what)}.`;
}

/** Words for deciders that are no people. */
export const DECIDERS: Record<string, string> = {
  rule: "a rule",
  mode: "the permission mode",
  switchyard: "Switchyard",
  timeout: "nobody answered in time",
  unattended: "nobody was there to ask",
  cancel: "the turn was cancelled",
  overflow: "too many questions waited",
  interrupted: "the daemon was interrupted",
  limits: "the session's limits",
};

/** `token:phone http` → `phone`, or `you`. */
export function clientName(detail: string | undefined): string {
  return detail === undefined ? "a person" : nameOf(detail);
}

function set(requestId: string, next: Answering): void {
  kept.delete(requestId);
  kept.set(requestId, next);
  const [oldest] = kept.keys();
  if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
  for (const reader of readers) reader();
}

function subscribe(reader: () => void): () => void {
  readers.add(reader);
  return () => readers.delete(reader);
}
