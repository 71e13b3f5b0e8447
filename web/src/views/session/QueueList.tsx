// Queued prompts.
import { useState } from "react";
import { nameOf } from "../../api/people";
import { asProblem, type Problem } from "../../api/problem";
import { IconButton } from "../../parts/Button";
import { Icon } from "../../parts/Icon";
import { ProblemNotice } from "../../parts/Notice";
import { cutLine } from "../../render/visible";
import { cancelTurn, dropQueued, requestName, sendPrompt } from "../../session/actions";
import { text } from "../../api/json";
import type { QueuedPrompt } from "../../api/types";

interface Props {
  session: string;
  queue: readonly QueuedPrompt[];
  /** Puts words into the prompt, to be changed there. */
  onEdit: (words: string) => void;
}

export function QueueList({ session, queue, onEdit }: Props) {
  const [problem, setProblem] = useState<Problem>();
  const [going, setGoing] = useState<string>();
  if (queue.length === 0) return null;
  const run = (turn: string, work: () => Promise<void>) => {
    setGoing(turn);
    setProblem(undefined);
    work()
      .catch((error: unknown) => setProblem(asProblem(error)))
      .finally(() => setGoing(undefined));
  };
  const drop = (turn: string) => run(turn, () => dropQueued(session, turn));
  const edit = (prompt: QueuedPrompt) =>
    run(prompt.turn, async () => {
      // Dropping fails for one that has begun meanwhile, so that it is not there twice.
      await dropQueued(session, prompt.turn);
      onEdit(prompt.blocks.flatMap((block) => text(block.text) ?? []).join("\n"));
    });
  const sendNow = (prompt: QueuedPrompt) =>
    run(prompt.turn, async () => {
      const others = queue.filter((each) => each !== prompt);
      // This drops all that wait, so all are sent again, and this one first.
      await cancelTurn(session);
      for (const each of [prompt, ...others]) await sendPrompt(session, each.blocks, [], requestName());
    });
  // Prompts of others would be sent again under this browser's name.
  const areOwn = queue.every((each) => each.by !== undefined && nameOf(each.by) === "you");
  return (
    <section className="queue" aria-label="Waiting prompts">
      <ol>
        {queue.map((prompt) => (
          <li key={prompt.seq}>
            <Icon name="clock" size={13} />
            <span className="queue-text">{cutLine(wordsOf(prompt), 300)}</span>
            {prompt.by && <span className="faint">{cutLine(nameOf(prompt.by), 100)}</span>}
            {areOwn && (
              <IconButton
                icon="send"
                label="Stop the turn and send this now"
                className="small-button"
                disabled={going !== undefined}
                onClick={() => sendNow(prompt)}
              />
            )}
            {prompt.blocks.every((block) => block.type === "text") && (
              <IconButton
                icon="edit"
                label="Edit this prompt"
                className="small-button"
                disabled={going !== undefined}
                onClick={() => edit(prompt)}
              />
            )}
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
