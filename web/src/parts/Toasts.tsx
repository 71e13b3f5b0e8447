// The place of short messages. Errors interrupt a screen reader, the others wait.
import "../style/toasts.css";
import { useEffect, useRef } from "react";
import { IconButton } from "./Button";
import { CodeWords } from "../render/CodeWords";
import { Icon } from "./Icon";
import { closeToast, useToasts, type Toast } from "./toasts";

export function Toasts() {
  const toasts = useToasts();
  const place = useRef<HTMLDivElement>(null);
  const newest = toasts.at(-1)?.id;
  useEffect(() => {
    const element = place.current;
    if (!element?.showPopover) return;
    // An open dialog covers everything but what comes on top after it.
    if (element.matches(":popover-open")) element.hidePopover();
    if (newest !== undefined) element.showPopover();
  }, [newest]);
  return (
    <div ref={place} popover="manual" className="toasts">
      <div role="status">{toasts.filter((toast) => toast.tone === "done").map(row)}</div>
      <div role="alert">{toasts.filter((toast) => toast.tone === "error").map(row)}</div>
    </div>
  );
}

function row(toast: Toast) {
  return (
    <div key={toast.id} className={`toast ${toast.tone}`} data-testid="toast">
      <Icon name={toast.tone === "done" ? "check" : "warning"} />
      <div className="toast-text">
        <p>{toast.text}</p>
        {toast.remedy && (
          <p className="muted">
            <CodeWords text={toast.remedy} />
          </p>
        )}
      </div>
      {toast.action && (
        <button
          type="button"
          className="link"
          onClick={() => {
            closeToast(toast.id);
            toast.action?.run();
          }}
        >
          {toast.action.label}
        </button>
      )}
      <IconButton icon="close" label="Dismiss" onClick={() => closeToast(toast.id)} />
    </div>
  );
}
