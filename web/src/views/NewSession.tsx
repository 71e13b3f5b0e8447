// The dialog that makes a session.
import "../style/new-session.css";
import { useEffect, useMemo, useState, type SubmitEvent } from "react";
import { inOrder, type Agent } from "../agents/agent";
import { offersOf, useReportedOptions } from "../agents/offers";
import { useAgents } from "../agents/search";
import { asProblem, type Problem } from "../api/problem";
import type { Session } from "../api/types";
import { createSession, firstPrompt, lastChoice, draftError, PERMISSIONS, type SessionForm } from "../list/create";
import { recentDirectories, type SessionCache } from "../list/sessionCache";
import { byActivity, everything } from "../list/query";
import { sessions, useSessionList } from "../list/sessions";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Notice, ProblemNotice } from "../parts/Notice";
import { navigate, pathOf } from "../router";
import { requestName } from "../session/actions";
import { ChoiceField } from "./NewSessionChoice";
import { DirectoryField } from "./NewSessionDirectory";

export function NewSession({ agent: wanted, onClose }: { agent?: string; onClose: () => void }) {
  const { agents, isLooking } = useAgents();
  const { cache } = useSessionList();
  const [names] = useState(() => [requestName(), requestName()] as const);
  const [draft, setDraft] = useState<Omit<SessionForm, "cwd"> & { cwd?: string }>(() => {
    const last = lastChoice();
    return { agent: wanted ?? last.agent ?? "", cwd: last.cwd, model: "", mode: "", effort: "", permissions: "", title: "", prompt: "" };
  });
  const [made, setMade] = useState<Session>();
  const [isBusy, setBusy] = useState(false);
  const [formError, setFormError] = useState<string>();
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => {
    // The list gives the directories; it is not read yet where another view was shown before.
    if (sessions.state.listings.size === 0) void sessions.more(everything);
  }, []);

  const usable = useMemo(() => inOrder(agents).filter((agent) => agent.isUsable), [agents]);
  const agentId = agentFor(draft.agent, usable, cache, isLooking);
  const agent = agents.find((each) => each.id === agentId);
  const options = useReportedOptions(
    agentId,
    useMemo(() => [...cache.sessions.values()], [cache]),
  );
  const offers = offersOf(agent, options, draft.model);
  const recent = recentDirectories(cache, agentId);
  // Most sessions are in the directory of the last one.
  const cwd = draft.cwd ?? recent[0] ?? "";
  // Without a directory no other field helps.
  const [hadDirectory] = useState(cwd !== "");

  const change = (part: Partial<SessionForm>) => {
    setDraft({ ...draft, ...part });
    setFormError(undefined);
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const whole = { ...draft, cwd, agent: agentId };
    const wrong = draftError(whole);
    setFormError(wrong);
    setProblem(undefined);
    if (wrong) return;
    setBusy(true);
    try {
      const session = made ?? (await createSession(whole, names[0]));
      setMade(session);
      sessions.put(session);
      if (draft.prompt.trim()) await firstPrompt(session, draft.prompt, names[1]);
      onClose();
      navigate(pathOf({ view: "session", id: session.id }));
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };

  return (
    <Dialog title="New session" onClose={onClose} className="new-session">
      <form onSubmit={(event) => void submit(event)} noValidate data-testid="new-session">
        <div className="pair">
          <label className="field">
            <span>Agent</span>
            <select
              className="input"
              name="agent"
              value={agentId}
              disabled={!!made}
              onChange={(event) => change({ agent: event.target.value, model: "", mode: "", effort: "" })}
            >
              {usable.length === 0 && (
                <option value={agentId}>{isLooking ? agentId || "Looking for agents …" : "No agent is ready"}</option>
              )}
              {usable.map((each) => (
                <option key={each.id} value={each.id}>
                  {each.name}
                  {each.auth.state === "missing" ? " (not logged in)" : ""}
                </option>
              ))}
            </select>
          </label>
          <ChoiceField
            label="Model"
            name="model"
            value={draft.model}
            choices={offers.models}
            standard={offers.defaults.model}
            isDisabled={!!made}
            onChange={(model) => change({ model, effort: "" })}
          />
        </div>
        <DirectoryField
          value={cwd}
          recent={recent}
          isFirst={!hadDirectory}
          isDisabled={!!made}
          isInvalid={!!formError}
          onChange={(cwd) => change({ cwd })}
        />
        <label className="field">
          <span>First prompt (optional)</span>
          <textarea
            className="input"
            name="prompt"
            rows={4}
            data-first={hadDirectory || undefined}
            value={draft.prompt}
            onChange={(event) => change({ prompt: event.target.value })}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
            }}
          />
        </label>
        <details className="more-options">
          <summary>Mode, effort, permissions, title</summary>
          <div className="pair">
            <ChoiceField
              label="Mode"
              name="mode"
              value={draft.mode}
              choices={offers.modes}
              isDisabled={!!made}
              onChange={(mode) => change({ mode })}
            />
            <ChoiceField
              label="Effort"
              name="effort"
              value={draft.effort}
              choices={offers.efforts}
              isDisabled={!!made}
              onChange={(effort) => change({ effort })}
            />
            <label className="field">
              <span>Permissions</span>
              <select
                className="input"
                name="permissions"
                value={draft.permissions}
                disabled={!!made}
                onChange={(event) => change({ permissions: event.target.value })}
              >
                {PERMISSIONS.map((each) => (
                  <option key={each.id} value={each.id}>
                    {each.name}
                  </option>
                ))}
              </select>
            </label>
            <label className="field">
              <span>Title</span>
              <input
                className="input"
                name="title"
                value={draft.title}
                maxLength={200}
                disabled={!!made}
                placeholder="From the first prompt"
                onChange={(event) => change({ title: event.target.value })}
              />
            </label>
          </div>
        </details>
        {formError && <Notice tone="error">{formError}</Notice>}
        {problem && !made && <p className="form-problem">Cannot create the session</p>}
        {problem && <ProblemNotice problem={problem} />}
        {made && problem && <Notice>The session was made; only its first prompt is missing.</Notice>}
        <div className="dialog-foot">
          {isBusy && <span className="muted small foot-note">{made ? "Sending the prompt …" : "Starting the agent …"}</span>}
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" isBusy={isBusy} title="Ctrl+Enter">
            {made ? "Send the prompt again" : draft.prompt.trim() ? "Create and send" : "Create"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** The agent that was asked for, if there is one; else the one used last; else the first. */
function agentFor(wanted: string, usable: Agent[], cache: SessionCache, isLooking: boolean): string {
  const isThere = (id: string) => usable.some((agent) => agent.id === id);
  // The agent that was asked for may still be found.
  if (wanted && (isLooking || isThere(wanted))) return wanted;
  const used = [...cache.sessions.values()].sort(byActivity).find((session) => isThere(session.agent));
  return used?.agent ?? usable[0]?.id ?? "";
}
