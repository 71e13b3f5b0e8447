// The view of agents.
import { useTitle } from "../parts/title";

export function AgentsView() {
  useTitle("Agents");
  return (
    <div className="view">
      <header className="view-head">
        <h1>Agents</h1>
      </header>
    </div>
  );
}
