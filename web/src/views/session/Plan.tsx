// The agent's plan, with how far it is.
import { Icon } from "../../parts/Icon";
import { visible } from "../../render/visible";
import type { PlanEntry, PlanItem } from "../../session/items";
import { Fold } from "./Fold";

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

export function PlanList({ entries }: { entries: readonly PlanEntry[] }) {
  return (
    <ol className="plan-list">
      {entries.map((entry, i) => (
        <li key={i} className={entry.status}>
          <span className="mark" role="img" aria-label={entry.status.replace("_", " ")}>
            {entry.status === "completed" && <Icon name="check" size={12} />}
          </span>
          <span>{visible(entry.content)}</span>
          {entry.priority === "high" && <span className="badge">high</span>}
        </li>
      ))}
    </ol>
  );
}

export function progress(entries: readonly PlanEntry[]): { done: number; total: number; now?: string } {
  return {
    done: entries.filter((entry) => entry.status === "completed").length,
    total: entries.length,
    now: entries.find((entry) => entry.status === "in_progress")?.content,
  };
}
