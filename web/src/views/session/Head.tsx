// The bar above a session: its title, status, settings and usage.
import { useState } from "react";
import { asProblem, type Problem } from "../../api/problem";
import type { SessionPatch, SelectableOption, PlanStep, Session, SessionStatus } from "../../api/types";
import { useSessionActions } from "../../list/actions";
import { shownStatusOf } from "../../list/query";
import { IconButton } from "../../parts/Button";
import { Menu } from "../../parts/Menu";
import { ProblemNotice } from "../../parts/Notice";
import { StatusBadge } from "../../parts/Status";
import { cutLine } from "../../render/visible";
import { navigate } from "../../router";
import { changeSession } from "../../session/actions";
import type { OpenSession, OpenSessionStore } from "../../session/store";
import { progress } from "./Plan";
import { UsageView } from "./Usage";

interface Props {
  open: OpenSession;
  store: OpenSessionStore;
  title: string;
  isRaw: boolean;
  onRaw: () => void;
}

export function Head({ open, store, title, isRaw, onRaw }: Props) {
  const { session, conversation } = open;
  const [problem, setProblem] = useState<Problem>();
  const [isRenaming, setRenaming] = useState(false);
  const { items, dialog } = useSessionActions(session, () => navigate("/"));
  const run = (work: Promise<Session>) => {
    setProblem(undefined);
    work.then(
      (changed) => store.setSession(changed),
      (error: unknown) => setProblem(asProblem(error)),
    );
  };
  const change = (changes: SessionPatch) => run(changeSession(store.id, changes));
  return (
    <header className="session-head">
      <div className="session-title">
        {isRenaming ? (
          <Rename
            title={session?.title ?? ""}
            onDone={(next) => {
              setRenaming(false);
              if (next !== undefined) change({ title: next || null });
            }}
          />
        ) : (
          <h1 title={cutLine(title, 300)} onDoubleClick={() => setRenaming(true)}>
            {cutLine(title, 300)}
          </h1>
        )}
        {session && <StatusBadge status={shownStatusOf({ ...session, status: statusOf(open, session) })} />}
        <span className="head-end">
          <IconButton icon="code" label="Raw events (e)" aria-pressed={isRaw} onClick={onRaw} />
          <Menu
            label="More"
            disabled={items.length === 0}
            items={items.map((item) =>
              item.label.startsWith("Rename") ? { ...item, label: "Rename", run: () => setRenaming(true) } : item,
            )}
          />
        </span>
      </div>
      <div className="session-facts">
        {session && (
          <>
            <span className="badge">{session.agent}</span>
            <span className="mono cwd" title={cutLine(session.cwd, 600)}>
              <bdi>{cutLine(session.cwd, 600)}</bdi>
            </span>
            <Choice label="Model" selectable={session.options?.model} onChoose={(model) => change({ model })} />
            <Choice label="Mode" selectable={session.options?.mode} onChoose={(mode) => change({ mode })} />
            <Choice label="Effort" selectable={session.options?.effort} onChoose={(effort) => change({ effort })} />
          </>
        )}
        {conversation.running && conversation.plan && <PlanBadge entries={conversation.plan.entries} />}
        <UsageView conversation={conversation} session={session} />
      </div>
      {problem && <ProblemNotice problem={problem} />}
      {dialog}
    </header>
  );
}

/** The status by the log, which is newer than the list; otherwise the list's. */
function statusOf({ conversation, isRead }: OpenSession, session: Session): SessionStatus {
  // The log does not say that nobody goes on with the turn.
  const { status } = session;
  if (status === "copying" || status === "damaged") return status;
  if ((status === "interrupted" || status === "failed") && conversation.seq <= session.head) return status;
  if (conversation.waiting.length > 0) return "requires_action";
  if (conversation.running) return "running";
  const isOver = isRead && conversation.seq >= session.head && (session.status === "running" || session.status === "requires_action");
  return isOver ? "idle" : session.status;
}

/** The progress of the plan, wherever one has scrolled to. */
function PlanBadge({ entries }: { entries: readonly PlanStep[] }) {
  const { done, total, now } = progress(entries);
  if (total === 0) return null;
  return (
    <span className="badge accent plan-badge" title={now && cutLine(now, 300)}>
      Plan {done} of {total}
      {now && `: ${cutLine(now, 100)}`}
    </span>
  );
}

function Choice({
  label,
  selectable,
  onChoose,
}: {
  label: string;
  selectable: SelectableOption | null | undefined;
  onChoose: (id: string) => void;
}) {
  if (!selectable || selectable.values.length === 0) return null;
  const current = selectable.values.find((value) => value.id === selectable.current);
  return (
    <Menu
      label={label}
      isNamed={label !== "Model"}
      text={cutLine(current?.name ?? selectable.current ?? label, 80)}
      items={selectable.values.map((value) => ({
        label: cutLine(value.name, 120),
        isChosen: value.id === selectable.current,
        run: () => onChoose(value.id),
      }))}
    />
  );
}

function Rename({ title, onDone }: { title: string; onDone: (title?: string) => void }) {
  const [value, setValue] = useState(title);
  return (
    <form
      className="rename"
      onSubmit={(event) => {
        event.preventDefault();
        onDone(value.trim());
      }}
    >
      <input
        className="input"
        aria-label="Title"
        autoFocus
        maxLength={200}
        onFocus={(event) => event.target.select()}
        value={value}
        onChange={(event) => setValue(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && onDone()}
        onBlur={() => onDone(value.trim() === title ? undefined : value.trim())}
      />
    </form>
  );
}
