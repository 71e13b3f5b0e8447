// A question of the agent: what it is about, the options offered, and who answered how.
import { useContext } from "react";
import type { PermissionAnswer, QuestionOption, Resolution } from "../../api/types";
import { Button } from "../../parts/Button";
import { Icon } from "../../parts/Icon";
import { ProblemNotice } from "../../parts/Notice";
import { useSettled } from "../../parts/useSettled";
import { duration } from "../../parts/Time";
import { CodeWords } from "../../render/CodeWords";
import { cutLine, visible } from "../../render/visible";
import type { QuestionItem } from "../../session/items";
import { text } from "../../api/json";
import { About } from "./About";
import { answer, clientName, DECIDERS, useAnswering } from "./answering";
import { CurrentQuestionContext, SessionContext } from "./context";
import { Form } from "./Form";
import { useOnScreen } from "./useOnScreen";

export function QuestionCard({ item }: { item: QuestionItem }) {
  if (item.resolution) return <Resolved item={item} resolution={item.resolution} />;
  return item.isForPerson ? <Asking item={item} /> : null;
}

function Asking({ item }: { item: QuestionItem }) {
  const { noteOnScreen } = useContext(SessionContext);
  const { id, select } = useContext(CurrentQuestionContext);
  const ref = useOnScreen<HTMLDivElement>((isThere) => noteOnScreen(item.requestId, isThere));
  const isCurrent = id === item.requestId;
  return (
    <div
      ref={ref}
      role="group"
      className={isCurrent ? "card question-card current" : "card question-card"}
      aria-label={`Question: ${cutLine(item.title, 200)}`}
      aria-current={isCurrent || undefined}
      onFocus={() => select(item.requestId)}
      onMouseDown={() => select(item.requestId)}
    >
      <h3>
        <Icon name={item.limit ? "pause" : "question"} />
        <span>
          <CodeWords text={item.title.slice(0, 1000)} />
        </span>
      </h3>
      <About item={item} />
      <Answers item={item} />
    </div>
  );
}

// The most options that are shown; those beyond can be read in the raw events.
const MOST_OPTIONS = 20;
const NAME_CHARS = 120;

/** The options as buttons, or the form. Shared by the card and the bar above the prompt. */
export function Answers({ item, isShort }: { item: QuestionItem; isShort?: boolean }) {
  const { id } = useContext(SessionContext);
  const at = useContext(CurrentQuestionContext);
  const { busy, problem } = useAnswering(item.requestId);
  const hasKeys = at.id === item.requestId && at.isSettled;
  // The second click of two may fall on a button that has only now come to lie there.
  const { isSettled: isReady } = useSettled(`${item.requestId} ${at.layoutKey}`);
  const give = (name: string, body: PermissionAnswer) => {
    if (isReady) answer(id, item.requestId, name, body);
  };
  return (
    <>
      {item.form === "elicitation" ? (
        isShort ? null : (
          <Form request={item.request} isBusy={busy !== undefined} isReady={isReady} onAnswer={(response) => give("form", { response })} />
        )
      ) : (
        <div className="answers" role="group" aria-label="Answers">
          {item.options.slice(0, MOST_OPTIONS).map((option, i) => (
            <Button
              key={i}
              look={lookOf(option, item.options)}
              isBusy={busy === option.optionId}
              disabled={busy !== undefined}
              aria-disabled={!isReady || undefined}
              onClick={() => give(option.optionId, { optionId: option.optionId })}
            >
              <OptionName option={option} />
              {/* Its place is kept, so that no button moves when the keys begin to count. */}
              {i < 9 && (hasKeys ? <kbd aria-hidden="true">{i + 1}</kbd> : <span className="no-key" aria-hidden="true" />)}
            </Button>
          ))}
          {item.options.length === 0 && (
            <Button isBusy={busy === "none"} aria-disabled={!isReady || undefined} onClick={() => give("none", { outcome: "cancelled" })}>
              Dismiss
            </Button>
          )}
        </div>
      )}
      {problem && <ProblemNotice problem={problem} />}
    </>
  );
}

const KINDS: Record<string, string> = {
  allow_once: "allow once",
  allow_always: "allow always",
  reject_once: "reject once",
  reject_always: "reject always",
};

/** The agent's name for it, and what it does: a name may say anything, or nothing. */
function OptionName({ option }: { option: QuestionOption }) {
  const name = cutLine(option.name.trim(), NAME_CHARS);
  const kind = KINDS[option.kind] ?? (option.kind ? cutLine(option.kind, 40) : "unknown kind");
  if (isSaidBy(name, kind)) return <CodeWords text={name} />;
  return (
    <span className="option-name">
      <span>
        <CodeWords text={name || `(${kind})`} />
      </span>
      <small>{name ? kind : "the agent gave it no name"}</small>
    </span>
  );
}

/** Whether a name already says its kind: `Always allow` and the like say `allow always`; `Reject` alone means once. */
function isSaidBy(name: string, kind: string): boolean {
  const [verb = "", often = ""] = kind.split(" ");
  const words = name.toLowerCase().split(/\s+/);
  if (often === "once" && words.length === 1) return words[0] === verb;
  return words.length >= 2 && [verb, often].every((word) => words.slice(0, 2).includes(word));
}

/** The style of an option: allowing once is what most want, and the least that one can regret. */
function lookOf(option: QuestionOption, all: QuestionOption[]): "primary" | "danger" | "plain" {
  if (option.kind.startsWith("reject")) return "danger";
  const wanted = all.find((each) => each.kind === "allow_once") ?? all.find((each) => each.kind.startsWith("allow"));
  return wanted === option ? "primary" : "plain";
}

function Resolved({ item, resolution }: { item: QuestionItem; resolution: Resolution }) {
  const isYes = resolution.allowed ?? resolution.response?.action === "accept";
  const words = resolution.choice?.trim() || text(resolution.response?.action) || (isYes ? "allowed" : "rejected");
  const who = resolution.who === "client" ? clientName(resolution.detail) : (DECIDERS[resolution.who] ?? resolution.who);
  const which = resolution.who !== "client" && resolution.detail ? ` (${resolution.detail})` : "";
  return (
    <p className={`line-notice ${isYes ? "info" : "warning"} resolved`}>
      <Icon name={isYes ? "check" : "close"} size={13} />
      <span className="sr-only">{isYes ? "Allowed: " : "Not allowed: "}</span>
      <span className="notice-title">
        <CodeWords text={item.title.slice(0, 300)} />
      </span>
      <span>
        {cutLine(words, 200)}, {visible(who + which).slice(0, 300)}
        {resolution.waitedMs !== undefined && <span className="faint"> after {duration(resolution.waitedMs)}</span>}
      </span>
    </p>
  );
}
