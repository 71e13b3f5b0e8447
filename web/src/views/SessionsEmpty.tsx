// The placeholder for an empty list, with what to do.
import { Button } from "../parts/Button";
import { CopyableCommand } from "../parts/Copy";
import { Icon } from "../parts/Icon";
import { Link } from "../router";

export function NoSessions({ isFiltered, onClear, onNew }: { isFiltered: boolean; onClear: () => void; onNew?: () => void }) {
  if (isFiltered) {
    return (
      <div className="empty">
        <Icon name="search" size={28} />
        <h2>No session matches</h2>
        <Button onClick={onClear}>Show all sessions</Button>
      </div>
    );
  }
  return (
    <div className="empty" data-testid="no-sessions">
      <Icon name="sessions" size={28} />
      <h2>No sessions yet</h2>
      {onNew ? (
        <>
          <p className="muted">
            A session is a conversation with an agent in a directory. It stays here, whoever comes and goes. See which{" "}
            <Link href="/agents">agents</Link> there are.
          </p>
          <Button look="primary" icon="plus" onClick={onNew}>
            New session
          </Button>
        </>
      ) : (
        <p className="muted">As an observer you see them here as soon as somebody makes one.</p>
      )}
      <p className="muted small">Or from a terminal:</p>
      <CopyableCommand text='switchyard run demo "say hello"' />
    </div>
  );
}
