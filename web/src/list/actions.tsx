// Actions on a session from outside of it: one set for its row in the list and for its own page.
import { useState, type SubmitEvent, type ReactNode } from "react";
import { may, useMe } from "../api/me";
import { path, request, requestJson } from "../api/request";
import type { Session } from "../api/types";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import type { MenuItem } from "../parts/Menu";
import { tellDone, tellProblem } from "../parts/toasts";
import { visible } from "../render/visible";
import { navigate, pathOf } from "../router";
import { sessions } from "./sessions";

/** A title, or what stands in for it. */
export function titleOf(session: Pick<Session, "title">): string {
  return session.title?.trim() ? visible(session.title) : "Untitled";
}

export interface SessionActions {
  items: MenuItem[];
  rename: () => void;
  remove: () => void;
  /** The dialog that is open, if one is; to be put somewhere in the page. */
  dialog: ReactNode;
}

/** `onRemoved` is called after the session was deleted. */
export function useSessionActions(session: Session | undefined, onRemoved?: () => void): SessionActions {
  const me = useMe();
  const [open, setOpen] = useState<"rename" | "remove">();
  const close = () => setOpen(undefined);
  if (!session) return { items: [], rename: close, remove: close, dialog: null };
  const canChange = may(me, "operator");
  const canRemove = may(me, "admin");
  const items: (MenuItem | false)[] = [
    canChange && { label: "Rename …", icon: "edit", run: () => setOpen("rename") },
    canChange && { label: "Fork", icon: "fork", detail: "A new session that begins with this one", run: () => void fork(session) },
    { label: "Export as text", icon: "download", run: () => void download(session, "text") },
    { label: "Export the log", icon: "download", detail: "One JSON event a line", run: () => void download(session, "json") },
    canChange &&
      session.status !== "closed" && {
        label: "Close",
        icon: "stop",
        detail: "Ends its agent; it can be prompted again",
        run: () => void shut(session),
      },
    canRemove && { label: "Delete …", icon: "trash", isDanger: true, run: () => setOpen("remove") },
  ];
  return {
    items: items.filter((item) => item !== false),
    rename: () => canChange && setOpen("rename"),
    remove: () => canRemove && setOpen("remove"),
    dialog:
      open === "rename" ? (
        <RenameDialog session={session} onClose={close} />
      ) : open === "remove" ? (
        <RemoveDialog session={session} onClose={close} onRemoved={onRemoved} />
      ) : null,
  };
}

async function fork(session: Session): Promise<void> {
  try {
    const made = await requestJson<Session>(path`/v1/sessions/${session.id}/fork`, { method: "POST", json: {} });
    sessions.put(made);
    navigate(pathOf({ view: "session", id: made.id }));
    tellDone("This is the fork; the original session is unchanged.");
  } catch (error) {
    tellProblem("The session was not forked", error);
  }
}

async function shut(session: Session): Promise<void> {
  try {
    await request(path`/v1/sessions/${session.id}/close`, { method: "POST" });
    void sessions.reread(session.id);
    tellDone("The session is closed. The next prompt opens it again.");
  } catch (error) {
    tellProblem("The session was not closed", error);
  }
}

/** Downloads through `request` like everything else: a link could not send the headers. */
export async function download(session: Pick<Session, "id" | "title">, format: "json" | "text"): Promise<void> {
  try {
    const response = await request(path`/v1/sessions/${session.id}/export`, { query: { format } });
    const address = URL.createObjectURL(await response.blob());
    const link = document.createElement("a");
    link.href = address;
    link.download = fileName(session, format);
    link.click();
    // The browser has opened it by then.
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  } catch (error) {
    tellProblem("The session was not exported", error);
  }
}

/** Letters and digits of the title, so that every file system takes it. */
export function fileName(session: Pick<Session, "id" | "title">, format: "json" | "text"): string {
  const words = (session.title ?? "")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40);
  return `${words ? `${words}-` : ""}${session.id.slice(0, 8)}.${format === "json" ? "ndjson" : "txt"}`;
}

function RenameDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const [title, setTitle] = useState(session.title ?? "");
  const [isBusy, setBusy] = useState(false);
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const json = { title: title.trim() || null };
      sessions.put(await requestJson<Session>(path`/v1/sessions/${session.id}`, { method: "PATCH", json }));
      onClose();
    } catch (error) {
      tellProblem("The session was not renamed", error);
      setBusy(false);
    }
  };
  return (
    <Dialog title="Rename the session" onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <label className="field">
          <span>Title</span>
          <input
            className="input"
            name="title"
            data-first
            value={title}
            maxLength={200}
            onFocus={(event) => event.target.select()}
            onChange={(event) => setTitle(event.target.value)}
          />
        </label>
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" isBusy={isBusy}>
            Rename
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function RemoveDialog({ session, onClose, onRemoved }: { session: Session; onClose: () => void; onRemoved?: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const remove = async () => {
    setBusy(true);
    try {
      await request(path`/v1/sessions/${session.id}`, { method: "DELETE" });
      sessions.remove(session.id);
      onClose();
      onRemoved?.();
      tellDone(`“${titleOf(session)}” was deleted.`);
    } catch (error) {
      tellProblem("The session was not deleted", error);
      setBusy(false);
    }
  };
  return (
    <Dialog title="Delete the session?" onClose={onClose}>
      <p>
        <strong>{titleOf(session)}</strong>
      </p>
      <p className="muted">
        Its log and its attachments are removed for good{session.status === "running" && ", and what it is doing is stopped"}. Files that
        the agent changed stay as they are.
      </p>
      <div className="dialog-foot">
        <Button data-first onClick={onClose}>
          Keep it
        </Button>
        <Button look="danger" icon="trash" isBusy={isBusy} onClick={() => void remove()}>
          Delete
        </Button>
      </div>
    </Dialog>
  );
}
