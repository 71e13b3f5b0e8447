// The bar for an open question that is scrolled out of sight, with its options.
import { useContext } from "react";
import { Icon } from "../../parts/Icon";
import { cutLine } from "../../render/visible";
import type { QuestionItem } from "../../session/items";
import { object } from "../../api/json";
import { actionOf } from "../../session/toolText";
import { AtQuestion } from "./context";
import { Answers } from "./Question";

interface Props {
  /** Those whose cards cannot be seen. */
  questions: readonly QuestionItem[];
  total: number;
  onShow: (question: QuestionItem) => void;
}

export function Waiting({ questions, total, onShow }: Props) {
  const { take } = useContext(AtQuestion);
  const [first] = questions;
  if (!first) return null;
  // The title is the agent's words; the action is what would be done.
  const action = first.form === "elicitation" ? undefined : actionOf(object(first.request.toolCall));
  return (
    <section
      className="waiting"
      aria-label="Waiting for you"
      onFocus={() => take(first.requestId)}
      onMouseDown={() => take(first.requestId)}
    >
      <Icon name={first.limit ? "pause" : "question"} />
      <button type="button" className="link waiting-title" onClick={() => onShow(first)}>
        {cutLine(first.title, 200)}
      </button>
      {total > 1 && <span className="badge warn">1 of {total}</span>}
      {action !== undefined && (
        <code className="waiting-action" aria-label="What it would do" title={cutLine(action, 600)}>
          {cutLine(action, 200)}
        </code>
      )}
      <Answers key={first.requestId} item={first} isShort />
    </section>
  );
}
