// Search and filters above the list of sessions.
import { useEffect, useMemo, useState, type RefObject } from "react";
import { useAgents } from "../agents/search";
import { SHOWN_STATUSES, type Query } from "../list/query";
import { useSessionList } from "../list/sessions";
import { Icon } from "../parts/Icon";

// A request for each pause in typing, not for each letter.
const PAUSE = 200;

interface Props {
  query: Query;
  onChange: (query: Query) => void;
  search: RefObject<HTMLInputElement | null>;
  /** Moves the focus from the search into the list. */
  onLeave: () => void;
  /** How many sessions wait for a person. */
  waiting: number;
}

export function SessionsFilters({ query, onChange, search, onLeave, waiting }: Props) {
  const [words, setWords] = useState(query.words);
  const { cache } = useSessionList();
  const { agents } = useAgents();
  useEffect(() => setWords(query.words), [query.words]);
  useEffect(() => {
    if (words === query.words) return;
    const timer = setTimeout(() => onChange({ ...query, words }), PAUSE);
    return () => clearTimeout(timer);
  }, [words, query, onChange]);

  // Agents that can be used, and those that sessions were made with whatever became of them.
  const names = useMemo(() => {
    const usable = agents.filter((agent) => agent.isUsable).map((agent) => agent.id);
    const used = [...cache.sessions.values()].map((session) => session.agent);
    return [...new Set([...usable, ...used, query.agent])].filter((name) => name !== "").sort();
  }, [agents, cache, query.agent]);

  return (
    <div className="filters" role="search">
      <label className="search">
        <Icon name="search" />
        <span className="sr-only">Search sessions</span>
        <input
          ref={search}
          className="input"
          type="search"
          placeholder="Search title, directory, agent"
          value={words}
          onChange={(event) => setWords(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown" || event.key === "Enter") {
              event.preventDefault();
              onLeave();
            } else if (event.key === "Escape") {
              if (words) setWords("");
              else event.currentTarget.blur();
            }
          }}
        />
        <kbd aria-hidden="true" className="wide-only">
          /
        </kbd>
      </label>
      <div className="chips" role="group" aria-label="Status">
        <Chip isOn={query.status === ""} label="All" onClick={() => onChange({ ...query, status: "" })} />
        {SHOWN_STATUSES.map(({ status, label }) => (
          <Chip
            key={status}
            isOn={query.status === status}
            label={label}
            count={status === "requires_action" ? waiting : 0}
            onClick={() => onChange({ ...query, status: query.status === status ? "" : status })}
          />
        ))}
      </div>
      <label className="agent-filter">
        <span className="sr-only">Agent</span>
        <select className="input" value={query.agent} onChange={(event) => onChange({ ...query, agent: event.target.value })}>
          <option value="">All agents</option>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Chip({ isOn, label, count = 0, onClick }: { isOn: boolean; label: string; count?: number; onClick: () => void }) {
  return (
    <button type="button" className="filter-chip" aria-pressed={isOn} onClick={onClick}>
      {label}
      {count > 0 && <span className="count">{count}</span>}
    </button>
  );
}
