// The context that the rows of a session need beside their items.
import { createContext, useContext, useState } from "react";

export interface SessionContextValue {
  id: string;
  cwd: string;
  /** The folds that are open; kept here since rows come and go as one scrolls. */
  folds: Map<string, boolean>;
  fork: (upTo: number) => void;
  /** A question's card came on the screen or left it. */
  noteOnScreen: (requestId: string, isThere: boolean) => void;
  /** Puts words into the prompt, to be sent once more. */
  reuse?: (words: string) => void;
}

const NOWHERE: SessionContextValue = { id: "", cwd: "", folds: new Map(), fork: () => undefined, noteOnScreen: () => undefined };

export const SessionContext = createContext(NOWHERE);

/** The question that the keys are about. Apart from the rest, since it changes more often. */
export interface CurrentQuestion {
  id: string | undefined;
  /** Whether its keys count already. */
  isSettled: boolean;
  /** The questions that decide where the buttons are: while these change, a click may hit another one's button. */
  layoutKey: string;
  /** Notes that a person is at this one now. */
  select: (requestId: string) => void;
}

export const CurrentQuestionContext = createContext<CurrentQuestion>({
  id: undefined,
  isSettled: false,
  layoutKey: "",
  select: () => undefined,
});

/** The last turn, if it failed and its prompt can be sent once more. Changes with every turn. */
export interface LastFailure {
  turn: string;
  isBusy: boolean;
  run: () => void;
}

export const Retry = createContext<LastFailure | undefined>(undefined);

export function useFold(key: string, isOpenAtFirst: boolean): [boolean, () => void] {
  const { folds } = useContext(SessionContext);
  const [, redraw] = useState(0);
  const isOpen = folds.get(key) ?? isOpenAtFirst;
  return [
    isOpen,
    () => {
      folds.set(key, !isOpen);
      redraw((n) => n + 1);
    },
  ];
}

/** A path as short as the session's directory allows. */
export function shortPath(path: string, cwd: string): string {
  return cwd && path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
}
