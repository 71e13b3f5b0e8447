// A key in the empty prompt that answers a question. It is written like any other; only if
// nothing follows it, and nothing came shortly before, was it meant as an answer: whoever
// writes a word that begins with `y` has allowed nothing.
import { useEffect, useRef, type KeyboardEvent } from "react";
import { SETTLE } from "../../parts/useSettled";

/** The action of a key, and the question it is for. */
export interface KeyAnswer {
  requestId: string;
  run: () => void;
}

interface LoneKey {
  onKeyDown: (event: KeyboardEvent, text: string) => void;
  /** The prompt's text has changed. */
  onText: (text: string) => void;
}

export function useLoneKey(answerFor: (key: string) => KeyAnswer | undefined, onAnswer: () => void): LoneKey {
  const lastAt = useRef(-Infinity);
  const pressed = useRef<{ key: string; requestId: string }>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const latest = useRef({ answerFor, onAnswer });
  latest.current = { answerFor, onAnswer };
  const forget = () => {
    clearTimeout(timer.current);
    pressed.current = undefined;
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  return {
    onKeyDown: (event, text) => {
      const isAlone = event.timeStamp - lastAt.current > SETTLE;
      lastAt.current = event.timeStamp;
      forget();
      const isPlain = !event.repeat && !event.ctrlKey && !event.metaKey && !event.altKey;
      const answer = text === "" && isAlone && isPlain ? latest.current.answerFor(event.key) : undefined;
      if (answer) pressed.current = { key: event.key, requestId: answer.requestId };
    },
    onText: (text) => {
      clearTimeout(timer.current);
      const mine = pressed.current;
      if (text !== mine?.key) return forget();
      timer.current = setTimeout(() => {
        const answer = latest.current.answerFor(mine.key);
        forget();
        // The question may be answered already, or another have taken its place.
        if (answer?.requestId !== mine.requestId) return;
        latest.current.onAnswer();
        answer.run();
      }, SETTLE);
    },
  };
}
