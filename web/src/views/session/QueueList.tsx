// Prompts that wait for their turn.
import { useState } from "react";
import { nameOf } from "../../api/people";
import { asProblem, type Problem } from "../../api/problem";
import { IconButton } from "../../parts/Button";
import { Icon } from "../../parts/Icon";
import { ProblemNotice } from "../../parts/Notice";
import { cutLine } from "../../render/visible";
import { dropQueued } from "../../session/actions";
import type { QueuedPrompt } from "../../session/items";
import { text } from "../../session/read";

export function QueueList({ session, queue }: { session: string; queue: readonly QueuedPrompt[] }) {
  const [problem, setProblem] = useState<Problem>();
  const [going, setGoing] = useState<string>();
  if (queue.length === 0) return null;
  const drop = (turn: string) => {
    setGoing(turn);
    dropQueued(session, turn)
      .catch((error: unknown) => setProblem(asProblem(error)))
      .finally(() => setGoing(undefined));
  };
  return (
    <section className="queue" aria-label="Waiting prompts">
      <ol>
        {queue.map((prompt) => (
          <li key={prompt.seq}>
            <Icon name="clock" size={13} />
            <span className="queue-text">{cutLine(wordsOf(prompt), 300)}</span>
            {prompt.by && <span className="faint">{cutLine(nameOf(prompt.by), 100)}</span>}
            <IconButton
              icon="close"
              label="Drop this prompt"
              className="small-button"
              isBusy={going === prompt.turn}
              onClick={() => drop(prompt.turn)}
            />
          </li>
        ))}
      </ol>
      {problem && <ProblemNotice problem={problem} />}
    </section>
  );
}

function wordsOf(prompt: QueuedPrompt): string {
  const words = prompt.blocks.map((block) => text(block.text) ?? `[${text(block.name) ?? text(block.type) ?? "file"}]`);
  return words.join(" ");
}
