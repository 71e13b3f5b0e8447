// Sends the prompt of a failed turn once more.
import { useState } from "react";
import { asProblem, type Problem } from "../../api/problem";
import { requestName, sendPrompt } from "../../session/actions";
import type { Conversation } from "../../session/items";
import type { LastFailure } from "./context";

/** Only the last turn can be tried again: later prompts depend on how an earlier one ended. */
export function useRetry(session: string, conversation: Conversation, onProblem: (problem: Problem) => void): LastFailure | undefined {
  const [isBusy, setBusy] = useState(false);
  const { items, running, queue } = conversation;
  if (running || queue.length > 0) return undefined;
  const end = items.findLast((item) => item.type === "end");
  const prompt = items.findLast((item) => item.type === "prompt");
  if (end?.stopReason !== "error" || end.turn === undefined || prompt?.turn !== end.turn) return undefined;
  const run = () => {
    if (isBusy) return;
    setBusy(true);
    sendPrompt(session, prompt.blocks, [], requestName())
      .catch((error: unknown) => onProblem(asProblem(error)))
      .finally(() => setBusy(false));
  };
  return { turn: end.turn, isBusy, run };
}
