// The banner for an interruption: what is shown may be old, why, and what happens about it. The one
// notice of it, however many streams it cut. Absent while all is well, and for the blink of an eye
// that a daemon's restart takes.
import { useEffect, useState } from "react";
import type { Connection } from "../api/connection";
import { DELETED } from "../api/events";
import { Link } from "../router";
import { Icon } from "./Icon";

// How long an interruption may last without a banner; most are over before.
const BEFORE_SAYING = 1500;

export function ConnectionBanner({ connection, onRetry }: { connection: Connection; onRetry: () => void }) {
  const { phase, reason } = connection;
  const isLost = phase === "offline" || phase === "ended" || phase === "reconnecting";
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    setLong(false);
    if (!isLost) return;
    const timer = setTimeout(() => setLong(true), BEFORE_SAYING);
    return () => clearTimeout(timer);
  }, [isLost]);
  const isShown = isLost && (isLong || phase !== "reconnecting");
  return (
    <div role="status" className="banner-place">
      {isShown && (
        <div className={`banner ${phase}`} data-testid="connection-banner">
          <Icon name="warning" />
          <span>
            <strong>
              {reason === DELETED ? "Gone" : phase === "ended" ? "Disconnected" : phase === "offline" ? "Offline" : "Reconnecting"}
            </strong>
            {reason && `: ${reason}`}. {phase !== "ended" && "What you see may be old; it is brought up to date by itself."}
          </span>
          {phase === "ended" ? (
            reason === DELETED ? (
              <Link href="/">To the sessions</Link>
            ) : (
              <Link href="/login">Log in</Link>
            )
          ) : (
            <button type="button" className="link" onClick={onRetry}>
              Try now
            </button>
          )}
        </div>
      )}
    </div>
  );
}
