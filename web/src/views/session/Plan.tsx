// The agent's plan, with how far it is.
import { Icon } from "../../parts/Icon";
import { Limited } from "../../render/Limited";
import { cutLine, visible } from "../../render/visible";
import type { PlanItem } from "../../session/items";
import { Fold } from "./Fold";
import type { PlanStep } from "../../api/types";

export function PlanCard({ item }: { item: PlanItem }) {
  const { done, total } = progress(item.entries);
  return (
    <Fold
      name={item.key}
      icon="plan"
      isOpenAtFirst
      className="card plan-card"
      summary={
        <>
          <span>Plan</span>
          <progress max={Math.max(1, total)} value={done} aria-label="Progress of the plan" />
          <span className="faint">
            {done} of {total}
          </span>
        </>
      }
    >
      {() => <PlanList entries={item.entries} />}
    </Fold>
  );
}

const KNOWN = ["pending", "in_progress", "completed"];

export function PlanList({ entries }: { entries: readonly PlanStep[] }) {
  return (
    <Limited items={entries} shown={60} noun="entries">
      {(some) => (
        <ol className="plan-list">
          {some.map((entry, i) => (
            <li key={i} className={KNOWN.includes(entry.status) ? entry.status : "pending"}>
              <span className="mark" role="img" aria-label={cutLine(entry.status.replace("_", " "), 40)}>
                {entry.status === "completed" && <Icon name="check" size={12} />}
              </span>
              <span>{visible(entry.content.slice(0, 600))}</span>
              {entry.priority === "high" && <span className="badge">high</span>}
            </li>
          ))}
        </ol>
      )}
    </Limited>
  );
}

export function progress(entries: readonly PlanStep[]): { done: number; total: number; now?: string } {
  return {
    done: entries.filter((entry) => entry.status === "completed").length,
    total: entries.length,
    now: entries.find((entry) => entry.status === "in_progress")?.content,
  };
}
