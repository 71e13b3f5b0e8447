// The end of a turn: why, how long it took, what it used.
import { useContext } from "react";
import { Button, IconButton } from "../../parts/Button";
import { Notice } from "../../parts/Notice";
import { count, money } from "../../parts/numbers";
import { Ago, duration } from "../../parts/Time";
import { CodeWords } from "../../render/CodeWords";
import { cutLine } from "../../render/visible";
import type { EndItem } from "../../session/items";
import { number } from "../../api/json";
import { SessionContext, Retry } from "./context";

const REASONS: Record<string, string> = {
  end_turn: "Done",
  cancelled: "Stopped",
  max_tokens: "Ended: the answer reached the model's length",
  max_turn_requests: "Ended: too many requests in one turn",
  refusal: "The agent refused to go on",
  error: "Failed",
  lost: "Ended: the log does not say how",
};

export function EndRow({ item }: { item: EndItem }) {
  const { fork } = useContext(SessionContext);
  const retry = useContext(Retry);
  const parts = [item.tookMs === undefined ? undefined : duration(item.tookMs), usageWords(item)].filter(Boolean);
  return (
    <>
      {item.error && !(item.error.isSaid && !item.error.remedy) && (
        <Notice tone="error">
          {!item.error.isSaid && (
            <p>
              <CodeWords text={item.error.message.slice(0, 4_000)} />
            </p>
          )}
          {item.error.remedy && (
            <p className="muted">
              <CodeWords text={item.error.remedy.slice(0, 1_000)} />
            </p>
          )}
        </Notice>
      )}
      <div className="end-line">
        <span className={item.stopReason === "end_turn" ? "" : "strong"}>
          {REASONS[item.stopReason] ?? `Ended: ${cutLine(item.stopReason, 100)}`}
        </span>
        {parts.map((part) => (
          <span key={part}>{part}</span>
        ))}
        <Ago time={item.time} />
        {retry !== undefined && retry.turn === item.turn && item.stopReason === "error" && (
          <Button look="quiet" icon="refresh" className="small-button" isBusy={retry.isBusy} onClick={retry.run}>
            Try again
          </Button>
        )}
        <IconButton icon="fork" label="Fork the session from here" className="small-button" onClick={() => fork(item.seq)} />
      </div>
    </>
  );
}

function usageWords({ usage = {}, isUsagePartial, costUsd }: EndItem): string | undefined {
  const input = number(usage.input_tokens);
  const output = number(usage.output_tokens);
  const total = number(usage.total_tokens);
  const words = [];
  const least = isUsagePartial ? "at least " : "";
  if (input !== undefined && output !== undefined) words.push(`${least}${count(input)} in, ${count(output)} out`);
  else if (total !== undefined) words.push(`${least}${count(total)} tokens`);
  if (costUsd !== undefined && costUsd > 0) words.push(money(costUsd));
  return words.length > 0 ? words.join(" · ") : undefined;
}
