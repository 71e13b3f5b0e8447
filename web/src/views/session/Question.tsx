// A question of the agent: what it is about, the options offered, and who answered how.
import { useContext, useState } from "react";
import { nameOf } from "../../api/people";
import { asProblem, type Problem } from "../../api/problem";
import { forgetQuestion, readQuestions } from "../../api/live";
import type { PermissionAnswer } from "../../api/types";
import { Button } from "../../parts/Button";
import { Icon } from "../../parts/Icon";
import { ProblemNotice } from "../../parts/Notice";
import { duration } from "../../parts/Time";
import { Diff } from "../../render/Diff";
import { visible } from "../../render/visible";
import { answerQuestion } from "../../session/actions";
import type { QuestionItem, QuestionOption, Resolution } from "../../session/items";
import { list, object, text } from "../../session/read";
import { InSession, shortPath } from "./context";
import { Form } from "./Form";
import { commandOf, TitleText } from "./ToolCard";
import { useOnScreen } from "./useOnScreen";

export function QuestionCard({ item }: { item: QuestionItem }) {
  if (item.resolution) return <Resolved item={item} resolution={item.resolution} />;
  return item.isForPerson ? <Asking item={item} /> : null;
}

function Asking({ item }: { item: QuestionItem }) {
  const { noteOnScreen } = useContext(InSession);
  const ref = useOnScreen<HTMLElement>((isThere) => noteOnScreen(item.requestId, isThere));
  return (
    <section ref={ref} className="card question-card" aria-label={`Question: ${item.title}`}>
      <h3>
        <Icon name={item.limit ? "pause" : "question"} />
        <span>
          <TitleText text={item.title.slice(0, 1000)} />
        </span>
      </h3>
      <About item={item} />
      <Answers item={item} />
    </section>
  );
}

/** What exactly would be done, so that nobody has to trust the title. */
function About({ item }: { item: QuestionItem }) {
  const { cwd } = useContext(InSession);
  const call = object(item.request.toolCall);
  const command = commandOf(call.rawInput);
  const diffs = list(call.content).map(object).filter((part) => part.type === "diff");
  const places = list(call.locations).flatMap((each) => text(object(each).path) ?? []);
  return (
    <>
      {command !== undefined && (
        <pre className="command" tabIndex={0} role="group" aria-label="Command">
          <code>{visible(command)}</code>
        </pre>
      )}
      {places.length > 0 && diffs.length === 0 && (
        <ul className="locations" aria-label="Places">
          {places.map((place, i) => (
            <li key={i} className="mono">
              {visible(shortPath(place, cwd))}
            </li>
          ))}
        </ul>
      )}
      {diffs.map((part, i) => (
        <Diff key={i} path={shortPath(text(part.path) ?? "file", cwd)} before={text(part.oldText)} after={text(part.newText) ?? ""} />
      ))}
    </>
  );
}

/** The options as buttons, or the form. Shared by the card and the bar above the prompt. */
export function Answers({ item, isShort }: { item: QuestionItem; isShort?: boolean }) {
  const { busy, problem, answer } = useAnswer(item);
  return (
    <>
      {item.form === "elicitation" ? (
        isShort ? null : <Form request={item.request} isBusy={busy !== undefined} onAnswer={(response) => answer("form", { response })} />
      ) : (
        <div className="answers" role="group" aria-label="Answers">
          {item.options.map((option, i) => (
            <Button
              key={option.optionId}
              look={lookOf(option, item.options)}
              isBusy={busy === option.optionId}
              disabled={busy !== undefined}
              onClick={() => answer(option.optionId, { optionId: option.optionId })}
            >
              {visible(option.name)}
              {i < 9 && <kbd aria-hidden="true">{i + 1}</kbd>}
            </Button>
          ))}
          {item.options.length === 0 && (
            <Button isBusy={busy === "none"} onClick={() => answer("none", { outcome: "cancelled" })}>
              Dismiss
            </Button>
          )}
        </div>
      )}
      {problem && problem.code !== "already-decided" && <ProblemNotice problem={problem} />}
    </>
  );
}

function useAnswer(item: QuestionItem) {
  const { id } = useContext(InSession);
  const [busy, setBusy] = useState<string>();
  const [problem, setProblem] = useState<Problem>();
  const answer = (name: string, body: PermissionAnswer) => {
    setBusy(name);
    setProblem(undefined);
    answerQuestion(id, item.requestId, body).then(
      // The card changes with the event that says so; until then it stays busy.
      () => forgetQuestion(item.requestId),
      (error: unknown) => {
        setBusy(undefined);
        setProblem(asProblem(error));
        void readQuestions();
      },
    );
  };
  return { busy, problem, answer };
}

function lookOf(option: QuestionOption, all: QuestionOption[]): "primary" | "danger" | "plain" {
  if (option.kind.startsWith("reject")) return "danger";
  return all.find((each) => each.kind.startsWith("allow")) === option ? "primary" : "plain";
}

const WHO: Record<string, string> = {
  rule: "a rule",
  mode: "the permission mode",
  timeout: "nobody answered in time",
  unattended: "nobody was there to ask",
  cancel: "the turn was stopped",
  overflow: "too many questions waited",
  interrupted: "the daemon was interrupted",
  limits: "the session's limits",
};

function Resolved({ item, resolution }: { item: QuestionItem; resolution: Resolution }) {
  const isYes = resolution.allowed ?? resolution.response?.action === "accept";
  const words = resolution.choice ?? text(resolution.response?.action) ?? (isYes ? "allowed" : "rejected");
  const who = resolution.who === "client" ? clientName(resolution.detail) : (WHO[resolution.who] ?? resolution.who);
  const which = resolution.who !== "client" && resolution.detail ? ` (${resolution.detail})` : "";
  return (
    <p className={`line-notice ${isYes ? "info" : "warning"} resolved`}>
      <Icon name={isYes ? "check" : "close"} size={13} />
      <span className="notice-title">
        <TitleText text={item.title.slice(0, 300)} />
      </span>
      <span>
        {visible(words)}, {visible(who + which)}
        {resolution.waitedMs !== undefined && <span className="faint"> after {duration(resolution.waitedMs)}</span>}
      </span>
    </p>
  );
}

/** `token:phone http` → `phone`, or `you`. */
export function clientName(detail: string | undefined): string {
  return detail === undefined ? "a person" : nameOf(detail);
}
