// The view of approvals.
import { useTitle } from "../parts/title";

export function ApprovalsView() {
  useTitle("Approvals");
  return (
    <div className="view">
      <header className="view-head">
        <h1>Approvals</h1>
      </header>
    </div>
  );
}
