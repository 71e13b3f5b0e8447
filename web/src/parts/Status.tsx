// A session's status as a badge, in a word and a colour.
import type { ShownStatus } from "../list/query";
import { Icon, type IconName } from "./Icon";

const LOOK: Record<ShownStatus, { word: string; tone: string; icon: IconName }> = {
  running: { word: "Running", tone: "accent", icon: "clock" },
  requires_action: { word: "Waiting for you", tone: "warn", icon: "question" },
  interrupted: { word: "Interrupted", tone: "bad", icon: "warning" },
  idle: { word: "Idle", tone: "", icon: "pause" },
  failed: { word: "Failed", tone: "bad", icon: "warning" },
  damaged: { word: "Damaged", tone: "bad", icon: "warning" },
  closed: { word: "Closed", tone: "", icon: "stop" },
  copying: { word: "Copying", tone: "", icon: "clock" },
};

export function StatusBadge({ status, pending = 0 }: { status: ShownStatus; pending?: number }) {
  const { word, tone, icon } = LOOK[status] ?? { word: status, tone: "", icon: "info" };
  return (
    <span className={`badge status-badge ${tone}`}>
      {status === "running" ? <span className="dot-running" aria-hidden="true" /> : <Icon name={icon} size={12} />}
      {word}
      {pending > 1 && <strong>{pending}</strong>}
    </span>
  );
}
