// The events as they are in the log, for exact reading.
import { useState, useSyncExternalStore } from "react";
import { VList } from "virtua";
import type { LogEvent } from "../../api/types";
import { CopyButton } from "../../parts/Copy";
import { PlainText } from "../../render/Cut";
import { LogStore } from "../../session/log";

interface Props {
  session: string;
  /** The session's last event. */
  head: number;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });

export function RawEvents({ session, head }: Props) {
  const [log] = useState(() => new LogStore(session, head));
  const events = useSyncExternalStore(log.subscribe, log.snapshot);
  const [filter, setFilter] = useState("");
  const words = filter.trim().toLowerCase();
  const shown = (words ? events.filter((event) => event.kind.toLowerCase().includes(words)) : events.slice()).reverse();
  return (
    <div className="raw-events">
      <div className="raw-tools">
        <input
          className="input"
          type="search"
          placeholder="Filter by kind"
          aria-label="Filter by kind"
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
        <span className="faint small">{shown.length} events, the latest first</span>
      </div>
      <VList data={shown} className="raw-list" role="region" aria-label="Raw events" tabIndex={0}>
        {(event) => <RawEvent key={event.seq} event={event} />}
      </VList>
    </div>
  );
}

function RawEvent({ event }: { event: LogEvent }) {
  const [isOpen, setOpen] = useState(false);
  const text = isOpen ? JSON.stringify(event, null, 2) : "";
  return (
    <div className="raw-event">
      <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span className="seq">{event.seq}</span>
        <span className="faint">{clock.format(event.time)}</span>
        <span className="kind">{event.kind}</span>
      </button>
      {isOpen && (
        <div className="code">
          <CopyButton text={text} className="small-button" />
          <PlainText text={text} />
        </div>
      )}
    </div>
  );
}
