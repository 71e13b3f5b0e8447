// A prompt that could not be sent while the next one was being written already.
import type { Problem } from "../../api/problem";
import { Button } from "../../parts/Button";
import { ProblemNotice } from "../../parts/Notice";
import { cutLine } from "../../render/visible";
import type { Outgoing } from "./useSending";

interface Props {
  prompt: Outgoing | undefined;
  problem: Problem | undefined;
  isBusy: boolean;
  onAgain: () => void;
  onBack: () => void;
}

export function Unsent({ prompt, problem, isBusy, onAgain, onBack }: Props) {
  if (!prompt && !problem) return null;
  return (
    <>
      {problem && <ProblemNotice problem={problem} />}
      {prompt && (
        <div className="unsent" role="group" aria-label="A prompt that was not sent">
          <span className="queue-text">Not sent: {cutLine(prompt.text, 200)}</span>
          <Button isBusy={isBusy} onClick={onAgain}>
            Send again
          </Button>
          <Button disabled={isBusy} onClick={onBack}>
            Put it back
          </Button>
        </div>
      )}
    </>
  );
}
