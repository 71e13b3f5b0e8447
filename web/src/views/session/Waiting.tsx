// The bar that says a question waits, wherever one has scrolled to; with its options.
import { Icon } from "../../parts/Icon";
import { visible } from "../../render/visible";
import type { QuestionItem } from "../../session/items";
import { Answers } from "./Question";

interface Props {
  /** Those whose cards cannot be seen. */
  questions: readonly QuestionItem[];
  total: number;
  onShow: (question: QuestionItem) => void;
}

export function Waiting({ questions, total, onShow }: Props) {
  const [first] = questions;
  if (!first) return null;
  return (
    <section className="waiting" aria-label="Waiting for you">
      <Icon name={first.limit ? "pause" : "question"} />
      <button type="button" className="link waiting-title" onClick={() => onShow(first)}>
        {visible(first.title).slice(0, 200)}
      </button>
      {total > 1 && <span className="badge warn">1 of {total}</span>}
      <Answers key={first.requestId} item={first} isShort />
    </section>
  );
}
