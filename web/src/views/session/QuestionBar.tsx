// The bar for an open question that is scrolled out of sight, with its options.
import { useContext } from "react";
import { Icon } from "../../parts/Icon";
import { cutLine } from "../../render/visible";
import type { QuestionItem } from "../../session/items";
import { object } from "../../api/json";
import { actionOf } from "../../session/toolText";
import { CurrentQuestionContext } from "./context";
import { Answers } from "./Question";

interface Props {
  /** Those whose cards cannot be seen. */
  questions: readonly QuestionItem[];
  total: number;
  onShow: (question: QuestionItem) => void;
}

export function QuestionBar({ questions, total, onShow }: Props) {
  const { select } = useContext(CurrentQuestionContext);
  const [first] = questions;
  if (!first) return null;
  // The title is the agent's words; the action is what would be done.
  const action = first.form === "elicitation" ? undefined : actionOf(object(first.request.toolCall));
  return (
    <section
      className="question-bar"
      aria-label="Waiting for you"
      onFocus={() => select(first.requestId)}
      onMouseDown={() => select(first.requestId)}
    >
      <Icon name={first.limit ? "pause" : "question"} />
      <button type="button" className="link question-bar-title" onClick={() => onShow(first)}>
        {cutLine(first.title, 200)}
      </button>
      {total > 1 && <span className="badge warn">1 of {total}</span>}
      {action !== undefined && (
        <code className="question-bar-action" aria-label="What it would do" title={cutLine(action, 600)}>
          {cutLine(action, 200)}
        </code>
      )}
      <Answers key={first.requestId} item={first} isShort />
    </section>
  );
}
