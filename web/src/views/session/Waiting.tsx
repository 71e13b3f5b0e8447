// The bar that says a question waits, wherever one has scrolled to; with its options.
import { Icon } from "../../parts/Icon";
import { visible } from "../../render/visible";
import type { QuestionItem } from "../../session/items";
import { Answers } from "./Question";

interface Props {
  questions: readonly QuestionItem[];
  onShow: (question: QuestionItem) => void;
}

export function Waiting({ questions, onShow }: Props) {
  const [first] = questions;
  if (!first) return null;
  return (
    <section className="waiting" aria-label="Waiting for you">
      <Icon name={first.limit ? "pause" : "question"} />
      <button type="button" className="link waiting-title" onClick={() => onShow(first)}>
        {visible(first.title).slice(0, 200)}
      </button>
      {questions.length > 1 && <span className="badge warn">1 of {questions.length}</span>}
      <Answers key={first.requestId} item={first} isShort />
    </section>
  );
}
