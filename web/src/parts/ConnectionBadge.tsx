// How the connection stands, in a word; the reason on hover and for screen readers.
import type { Connection } from "../api/connection";

const WORDS = {
  connecting: "Connecting",
  live: "Live",
  reconnecting: "Reconnecting",
  offline: "Offline",
  evicted: "Evicted",
  ended: "Ended",
} as const;

export function ConnectionBadge({ connection, onRetry }: { connection: Connection; onRetry?: () => void }) {
  const { phase, reason } = connection;
  const canRetry = onRetry && (phase === "offline" || phase === "reconnecting");
  return (
    <div className={`connection ${phase}`} role="status" title={reason}>
      <span className="dot" aria-hidden="true" />
      <span className="word">{WORDS[phase]}</span>
      {reason && phase !== "live" && <span className="sr-only">: {reason}</span>}
      {canRetry && (
        <button type="button" className="link" onClick={onRetry}>
          Retry now
        </button>
      )}
    </div>
  );
}
