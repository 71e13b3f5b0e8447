// The agents of this machine: their versions, logins, models and problems, with the remedies.
import "../style/agents.css";
import { useMemo, useState } from "react";
import { inOrder, agentStateOf } from "../agents/agent";
import { lookForAgents, useAgents } from "../agents/search";
import { useMay } from "../api/me";
import { Button } from "../parts/Button";
import { ProblemNotice } from "../parts/Notice";
import { Ago } from "../parts/Time";
import { useKeys } from "../parts/keys";
import { useTitle } from "../parts/title";
import { AbsentAgent, AgentCard } from "./AgentsCard";
import { NewSession } from "./NewSession";

export function AgentsView() {
  useTitle("Agents");
  const { agents, unseen, isLooking, endedAt, problem } = useAgents();
  const mayMake = useMay("operator");
  const [chosen, setChosen] = useState<string>();
  const sorted = useMemo(() => inOrder(agents), [agents]);
  const present = sorted.filter((agent) => agentStateOf(agent) !== "absent");
  const absent = sorted.filter((agent) => agentStateOf(agent) === "absent");
  const nReady = sorted.filter((agent) => agentStateOf(agent) === "ready").length;
  useKeys([{ keys: "r", label: "Look for agents again", run: () => void lookForAgents("again") }]);

  return (
    <div className="view" data-testid="agents">
      <header className="view-head">
        <h1>Agents</h1>
        <span className="muted small" role="status">
          {isLooking ? `Looking … ${agents.length - unseen.size} seen` : endedAt !== undefined && `${nReady} ready`}
          {!isLooking && endedAt !== undefined && (
            <>
              {" · looked "}
              <Ago time={endedAt} />
            </>
          )}
        </span>
        <Button icon="refresh" isBusy={isLooking} title="Look again (r)" onClick={() => void lookForAgents("again")}>
          Rescan
        </Button>
      </header>
      {problem && <ProblemNotice problem={problem} />}
      <div className="agent-cards">
        {present.map((agent) => (
          <AgentCard
            key={agent.id}
            agent={agent}
            isLooking={unseen.has(agent.id)}
            onNew={mayMake ? () => setChosen(agent.id) : undefined}
          />
        ))}
        {isLooking &&
          agents.length === 0 &&
          Array.from({ length: 4 }, (_, i) => <div key={i} className="agent-card pending" aria-hidden="true" />)}
      </div>
      {absent.length > 0 && (
        <section className="absent">
          <h2>
            Not installed <span className="muted">{absent.length}</span>
          </h2>
          <p className="muted small">Switchyard knows these too. Install one and rescan.</p>
          <ul>
            {absent.map((agent) => (
              <AbsentAgent key={agent.id} agent={agent} />
            ))}
          </ul>
        </section>
      )}
      {chosen !== undefined && <NewSession agent={chosen} onClose={() => setChosen(undefined)} />}
    </div>
  );
}
