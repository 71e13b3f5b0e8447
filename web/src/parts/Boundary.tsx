// An error boundary: a part that cannot be drawn is replaced by an error, the rest stays.
import { Component, type ErrorInfo, type ReactNode } from "react";
import { Button } from "./Button";
import { Notice } from "./Notice";

interface Props {
  /** The part that is missing then, at the beginning of a sentence. */
  name: string;
  /** Draws what can still be shown instead. */
  instead?: () => ReactNode;
  children: ReactNode;
}

export class Boundary extends Component<Props, { words?: string }> {
  override state: { words?: string } = {};

  static getDerivedStateFromError(error: unknown): { words: string } {
    return { words: error instanceof Error ? error.message : String(error) };
  }

  override componentDidCatch(error: unknown, info: ErrorInfo): void {
    console.error("cannot draw", this.props.name, error, info.componentStack);
  }

  override render(): ReactNode {
    const { name, instead, children } = this.props;
    const { words } = this.state;
    if (words === undefined) return children;
    return (
      <div className="view" data-testid="broken">
        <Notice tone="error">
          <p>
            {name} cannot be shown: {words.slice(0, 300)}
          </p>
          <p className="muted">This is a mistake of the page; nothing is lost. If it comes back after a reload, please report it.</p>
          <p>
            <Button onClick={() => location.reload()}>Reload</Button>{" "}
            <Button onClick={() => this.setState({ words: undefined })}>Try again</Button>
          </p>
        </Notice>
        {instead?.()}
      </div>
    );
  }
}
