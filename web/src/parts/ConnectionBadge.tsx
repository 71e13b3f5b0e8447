// The state of the connection, in a word; the reason on hover. Interruptions are announced by the
// banner, once.
import type { Connection } from "../api/connection";

const WORDS = {
  connecting: "Connecting",
  live: "Live",
  reconnecting: "Reconnecting",
  offline: "Offline",
  evicted: "Evicted",
  ended: "Ended",
} as const;

export function ConnectionBadge({ connection }: { connection: Connection }) {
  const { phase, reason } = connection;
  return (
    <div className={`connection ${phase}`} title={reason}>
      <span className="dot" aria-hidden="true" />
      <span className="word">{WORDS[phase]}</span>
    </div>
  );
}
