// The view of sessions.
import { useTitle } from "../parts/title";

export function SessionsView() {
  useTitle("Sessions");
  return (
    <div className="view">
      <header className="view-head">
        <h1>Sessions</h1>
      </header>
    </div>
  );
}
