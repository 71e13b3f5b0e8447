// A session's status in a word and a colour.
import type { SessionStatus } from "../api/types";

const LOOK: Record<SessionStatus, [string, string]> = {
  idle: ["Idle", ""],
  running: ["Running", "accent"],
  requires_action: ["Waiting for you", "warn"],
  closed: ["Closed", ""],
  damaged: ["Damaged", "bad"],
};

export function StatusBadge({ status }: { status: SessionStatus }) {
  const [word, tone] = LOOK[status] ?? [status, ""];
  return (
    <span className={`badge ${tone} ${status}`}>
      {status === "running" && <span className="dot-running" aria-hidden="true" />}
      {word}
    </span>
  );
}
