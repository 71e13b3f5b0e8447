// One agent: as a card where it is installed, as a line where it is not.
import type { ReactNode } from "react";
import { installOf, agentStateOf, type Agent, type Diagnosis, type AgentState } from "../agents/agent";
import { Button } from "../parts/Button";
import { CopyableCommand, CopyButton } from "../parts/Copy";
import { Icon } from "../parts/Icon";
import { CodeWords } from "../render/CodeWords";
import { visible } from "../render/visible";

const LOOK: Record<AgentState, [string, string]> = {
  ready: ["Ready", "good"],
  login: ["Not logged in", "warn"],
  unusable: ["Not usable", "bad"],
  absent: ["Not installed", ""],
};
const AUTH: Record<string, string> = { ok: "Logged in", missing: "Not logged in", unknown: "Not known until it runs" };
const MODELS_SHOWN = 6;

export function AgentCard({ agent, isLooking, onNew }: { agent: Agent; isLooking: boolean; onNew?: () => void }) {
  const state = agentStateOf(agent);
  const [word, tone] = LOOK[state];
  return (
    <article className="agent-card" aria-label={agent.name} aria-busy={isLooking || undefined} data-agent={agent.id} data-state={state}>
      <header>
        <h2>{visible(agent.name)}</h2>
        <span className={`badge ${tone}`}>{word}</span>
        {isLooking && <span className="spinner" role="img" aria-label="Looking again" />}
      </header>
      <dl>
        {agent.version && (
          <Fact name="Version">
            <span className="mono">{agent.version}</span>
          </Fact>
        )}
        {(agent.path ?? agent.command) && (
          <Fact name={agent.path ? "Path" : "Runs"}>
            <span className="mono path-end" title={agent.command ?? agent.path}>
              <bdi>{visible(agent.path ?? agent.command ?? "")}</bdi>
            </span>
          </Fact>
        )}
        <Fact name="Login">
          {AUTH[agent.auth.state] ?? agent.auth.state}
          {agent.auth.by && <span className="muted"> · {visible(agent.auth.by)}</span>}
        </Fact>
        {state === "login" && agent.login && (
          <Fact name="">
            <CopyableCommand text={agent.login} />
          </Fact>
        )}
        <Fact name="Models">
          <Models agent={agent} />
        </Fact>
      </dl>
      <Problems agent={agent} />
      {agent.notes.length > 0 && (
        <details className="notes">
          <summary>Good to know</summary>
          <ul>
            {agent.notes.map((note) => (
              <li key={note}>{visible(note)}</li>
            ))}
          </ul>
        </details>
      )}
      <footer>
        {agent.docs && <Docs agent={agent} />}
        {onNew && agent.isUsable && (
          <Button icon="plus" onClick={onNew} aria-label={`New session with ${agent.name}`}>
            New session
          </Button>
        )}
      </footer>
    </article>
  );
}

export function AbsentAgent({ agent }: { agent: Agent }) {
  const { command, note } = installOf(agent);
  return (
    <li data-agent={agent.id} data-state="absent">
      <strong>{visible(agent.name)}</strong>
      <span className="install">
        {command && <code title={command}>{command}</code>}
        {command && <CopyButton text={command} label={`Copy how to install ${agent.name}`} />}
        <span className="muted">
          <CodeWords text={note ?? (command ? "" : (agent.diagnoses[0]?.remedy ?? ""))} />
        </span>
      </span>
      {agent.docs && <Docs agent={agent} />}
    </li>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Models({ agent }: { agent: Agent }) {
  const { models, defaultModel } = agent;
  if (models.length === 0) return <span className="muted">{defaultModel ? visible(defaultModel) : "Known once it runs"}</span>;
  const names = models.map((model) => ({ ...model, label: visible(model.name ?? model.id) }));
  const first = names.slice(0, MODELS_SHOWN);
  const rest = names.slice(MODELS_SHOWN);
  const item = (model: (typeof names)[number]) => (
    <li
      key={model.id}
      title={[model.id, model.description].filter(Boolean).join(": ")}
      className={model.id === defaultModel ? "model standard" : "model"}
    >
      {model.label}
      {model.id === defaultModel && <span className="sr-only"> (default)</span>}
    </li>
  );
  return (
    <>
      <ul className="models">{first.map(item)}</ul>
      {rest.length > 0 && (
        <details>
          <summary>{rest.length} more</summary>
          <ul className="models">{rest.map(item)}</ul>
        </details>
      )}
    </>
  );
}

/** Problems of an agent that cannot be used are open; warnings are folded. */
function Problems({ agent }: { agent: Agent }) {
  const { diagnoses, unfinished } = agent;
  const problems = diagnoses.map((diagnosis, i) => <Problem key={i} diagnosis={diagnosis} isGrave={!agent.isUsable} />);
  const open = unfinished.length > 0 && <p className="muted small">Not determined: {unfinished.map(visible).join("; ")}</p>;
  if (problems.length === 0 && !open) return null;
  if (!agent.isUsable) return [...problems, open];
  const n = problems.length;
  return (
    <details className="warnings">
      <summary>
        {n > 0 && <Icon name="warning" size={13} />}
        {n > 0 ? `${n} ${n === 1 ? "warning" : "warnings"}` : "Not everything could be determined"}
      </summary>
      {problems}
      {open}
    </details>
  );
}

function Problem({ diagnosis, isGrave }: { diagnosis: Diagnosis; isGrave: boolean }) {
  return (
    <div className={isGrave ? "notice error" : "notice warning"}>
      <Icon name="warning" />
      <div>
        <p>
          <CodeWords text={diagnosis.message} />
        </p>
        {diagnosis.remedy && (
          <p className="muted">
            <strong>Remedy: </strong>
            <CodeWords text={diagnosis.remedy} />
          </p>
        )}
      </div>
    </div>
  );
}

function Docs({ agent }: { agent: Agent }) {
  return (
    <a href={agent.docs} target="_blank" rel="noopener noreferrer" aria-label={`Docs of ${agent.name}`}>
      Docs
    </a>
  );
}
