// All questions of all sessions that wait for a person, the oldest first.
import "../style/approvals.css";
import { useEffect, useRef, useState } from "react";
import { chosenAfter, isShown, stepFrom } from "../approvals/waiting";
import { useLive } from "../api/live";
import { useMay } from "../api/me";
import { Icon } from "../parts/Icon";
import { Notice } from "../parts/Notice";
import { useKeys, type Binding } from "../parts/keys";
import { useSettled } from "../parts/useSettled";
import { useTitle } from "../parts/title";
import { cutLine } from "../render/visible";
import { navigate, pathOf } from "../router";
import { ApprovalCard } from "./ApprovalsCard";
import { answer } from "./session/answering";
import { keysOf } from "./session/useAnswerKeys";

export function ApprovalsView() {
  useTitle("Approvals");
  const { questions } = useLive();
  const mayAnswer = useMay("operator");
  const ids = questions.map((question) => question.requestId);
  const { chosen, choose, settle, isSettled } = useChosen(ids);
  const place = useRef<HTMLDivElement>(null);
  const current = questions.find((question) => question.requestId === chosen);

  const step = (by: 1 | -1) => {
    const next = stepFrom(ids, chosen, by);
    if (next === undefined) return;
    choose(next);
    settle(next);
    cardOf(place.current, next)?.focus();
  };
  const answers: Binding[] = keysOf(current && isShown(current) ? current.options : []).map(({ key, option }) => ({
    keys: key,
    label: `Answer: ${cutLine(option.name, 80)}`,
    isGrave: true,
    run: () => {
      if (current && isSettled) answer(current.sessionId, current.requestId, option.optionId, { optionId: option.optionId });
    },
  }));
  useKeys([
    { keys: "ArrowDown", label: "Next question", run: () => step(1) },
    { keys: "ArrowUp", label: "Previous question", run: () => step(-1) },
    { keys: "j", label: "Next question", run: () => step(1), isSilent: true },
    { keys: "k", label: "Previous question", run: () => step(-1), isSilent: true },
    { keys: "o", label: "Open its session", run: () => current && navigate(pathOf({ view: "session", id: current.sessionId })) },
    ...(mayAnswer ? answers : []),
  ]);

  useEffect(() => {
    // The button that was pressed is gone with its question; the keyboard goes on from here.
    if (chosen !== undefined && document.activeElement === document.body) cardOf(place.current, chosen)?.focus({ preventScroll: true });
  }, [chosen, ids.length]);

  return (
    <div className="view approvals" data-testid="approvals">
      <header className="view-head">
        <h1>Approvals</h1>
        <span className="muted small" role="status">
          {questions.length === 0
            ? ""
            : questions.length === 1
              ? "1 question waiting for you"
              : `${questions.length} questions waiting for you`}
        </span>
      </header>
      {questions.length > 0 && !mayAnswer && <Notice>You are an observer here: others answer these.</Notice>}
      <div ref={place} className="approval-list">
        {questions.map((question, i) => (
          <ApprovalCard
            key={question.requestId}
            question={question}
            isChosen={question.requestId === chosen}
            isSettled={question.requestId === chosen && isSettled}
            // Only the questions above: those below move nothing.
            above={ids.slice(0, i).join(" ")}
            mayAnswer={mayAnswer}
            onChoose={choose}
          />
        ))}
      </div>
      {questions.length === 0 && (
        <div className="empty">
          <Icon name="approvals" size={28} />
          <h2>Nothing is waiting for you</h2>
          <p className="muted">
            When an agent asks for permission, or for anything else, in any session, the question is here to be answered.
          </p>
        </div>
      )}
    </div>
  );
}

/** The question that the keys are about; it follows the changes of the list. */
function useChosen(ids: string[]) {
  const [chosen, setChosen] = useState<string>();
  const before = useRef<string[]>([]);
  const next = chosenAfter(before.current, ids, chosen);
  const { isSettled, settle } = useSettled(next);
  useEffect(() => {
    before.current = ids;
    if (next !== chosen) setChosen(next);
  }, [ids, next, chosen]);
  return { chosen: next, choose: setChosen, settle, isSettled };
}

function cardOf(place: HTMLElement | null, id: string): HTMLElement | undefined {
  return place?.querySelector<HTMLElement>(`[data-request="${CSS.escape(id)}"]`) ?? undefined;
}
