// A tool call: its title, status, input and output.
import { useContext, type ReactNode } from "react";
import type { IconName } from "../../parts/Icon";
import { duration } from "../../parts/Time";
import { Code } from "../../render/Code";
import { CodeWords } from "../../render/CodeWords";
import { Content } from "../../render/Content";
import { Limited } from "../../render/Limited";
import { Terminal } from "../../render/Terminal";
import { cutLine } from "../../render/visible";
import type { ToolItem } from "../../session/items";
import { object, text, type Json } from "../../api/json";
import { terminalStateOf } from "../../session/terminals";
import { commandOf, outputOf, unfenced } from "../../session/toolText";
import { SessionContext } from "./context";
import { Fold } from "./Fold";
import { CommandBlock, Diffs, Places } from "./ToolParts";
import type { CallStatus } from "../../api/types";

const ICONS: Record<string, IconName> = {
  read: "file",
  edit: "edit",
  delete: "trash",
  move: "move",
  search: "search",
  execute: "terminal",
  think: "think",
  fetch: "fetch",
  switch_mode: "switch",
};

const WORDS: Record<CallStatus, string> = {
  pending: "Pending",
  in_progress: "Running",
  completed: "Done",
  failed: "Failed",
  cancelled: "Cancelled",
  abandoned: "No result",
};

export function ToolCard({ item }: { item: ToolItem }) {
  const { cwd } = useContext(SessionContext);
  const hasDiff = item.content.some((part) => part.type === "diff");
  const isRunning = item.status === "in_progress" || item.status === "pending";
  // A call that changes files, fails or runs right now is worth seeing without a click. While a
  // question about it is open, the question shows it.
  const failure = item.status === "completed" || item.status === "failed" ? item.failure : undefined;
  const status = failure === undefined ? item.status : "failed";
  const isOpenAtFirst = !item.isAsked && (hasDiff || status === "failed" || isRunning);
  const title = item.title || item.id;
  const took = item.until === undefined ? 0 : item.until - item.time - (item.waitedMs ?? 0);
  return (
    <Fold
      name={item.key}
      icon={ICONS[item.kind] ?? "other"}
      isOpenAtFirst={isOpenAtFirst}
      className={`card tool-card ${status} ${item.parent ? "nested" : ""}`}
      summary={
        <>
          <span className="tool-title" title={cutLine(title, 500)}>
            <CodeWords text={shortTitle(title.slice(0, 1000), cwd)} />
          </span>
          {took >= 1000 && <span className="faint">{duration(took)}</span>}
          <Status status={status} failure={failure} terminals={terminalStateOf(item)} />
        </>
      }
    >
      {() => <ToolBody item={item} />}
    </Fold>
  );
}

interface StatusProps {
  status: CallStatus;
  /** How the command failed, if that is known. */
  failure?: string;
  terminals: "running" | "lost" | undefined;
}

function Status({ status, failure, terminals }: StatusProps) {
  const isRunning = status === "in_progress" || status === "pending";
  // The call is over for the agent; what it started may not be.
  const more = terminals === "lost" ? "Lost" : terminals === "running" && !isRunning ? "Still running" : undefined;
  const tone = { pending: "", in_progress: "accent", completed: "good", failed: "bad", cancelled: "", abandoned: "warn" }[status];
  return (
    <>
      {more !== undefined && (
        <span className={`badge ${terminals === "lost" ? "warn" : "accent"}`}>
          {terminals === "running" && <span className="dot-running" aria-hidden="true" />}
          {more}
        </span>
      )}
      {/* That there is no result is said by the other. */}
      {(more === undefined || status === "completed" || status === "failed") && (
        <span className={`badge tool-status ${tone}`} title={failure === undefined ? undefined : `The command ${cutLine(failure, 80)}`}>
          {status === "in_progress" && <span className="dot-running" aria-hidden="true" />}
          {failure === undefined ? WORDS[status] : shortFailure(failure)}
        </span>
      )}
    </>
  );
}

/** `Failed: exit code 2` */
function shortFailure(failure: string): string {
  const how = failure.replace(/^failed with /, "");
  return `Failed: ${cutLine(how.replace(/^was /, ""), 60)}`;
}

function shortTitle(title: string, cwd: string): string {
  return (cwd ? title.replaceAll(`${cwd}/`, "") : title).slice(0, 300);
}

const SHOWN_PARTS = 20;

function ToolBody({ item }: { item: ToolItem }) {
  const command = commandOf(item.input);
  const diffs = item.content.filter((part) => part.type === "diff");
  const others = item.content.filter((part) => part.type !== "diff");
  const output = outputOf(item.output);
  const hasTerminal = others.some((part) => part.type === "terminal");
  const hasPrinted = item.terminal !== "" || Object.values(item.terminals ?? {}).some((terminal) => terminal.text !== "");
  return (
    <div className="tool-body">
      {command !== undefined && <CommandBlock command={command} />}
      {diffs.length === 0 && <Places places={item.locations} />}
      <Diffs parts={diffs} />
      <Limited items={others} shown={SHOWN_PARTS} noun="parts">
        {(some) => some.map((part, i) => <Part key={i} part={part} item={item} />)}
      </Limited>
      {!hasTerminal && item.terminal !== "" && <Terminal text={item.terminal} />}
      {output !== undefined && (item.content.length === 0 || hasTerminal) && !hasPrinted && <Terminal text={output} />}
      {item.exit && <Exit exit={item.exit} />}
      <Raw item={item} />
    </div>
  );
}

function Part({ part, item }: { part: Json; item: ToolItem }): ReactNode {
  if (part.type === "terminal") return <TerminalPart id={text(part.terminalId) ?? ""} item={item} />;
  const block = object(part.content);
  const words = text(block.text);
  // Output of commands is mostly given as one fenced block: it is a terminal's, not prose.
  if (item.kind === "execute" && block.type === "text" && words !== undefined) return <Terminal text={unfenced(words)} />;
  return <Content block={block} />;
}

/** A terminal: one that Switchyard serves, or one of the agent that reports its output itself. */
function TerminalPart({ id, item }: { id: string; item: ToolItem }): ReactNode {
  const served = Object.entries(item.terminals ?? {}).find(([name]) => name === id)?.[1];
  const words = served?.text || item.terminal;
  const isRunning = item.status === "in_progress" || item.status === "pending";
  return (
    <>
      {words !== "" && <Terminal text={words} />}
      {words === "" && isRunning && !served?.exit && !served?.isLost && (
        <p className="faint small">A terminal runs; it has printed nothing yet.</p>
      )}
      {served?.isTruncated && <p className="faint small">It printed more than is kept.</p>}
      {served?.isLost && <p className="faint small">Nobody knows how it ended: what ran it is gone.</p>}
      {served?.exit && !item.exit && <Exit exit={served.exit} />}
    </>
  );
}

function Exit({ exit }: { exit: { code?: number; signal?: string } }) {
  return <p className="faint small">{exit.signal ? `Ended by signal ${cutLine(exit.signal, 40)}` : `Exit code ${exit.code ?? "?"}`}</p>;
}

/** Input and output as they came, for whoever wants to see exactly. */
function Raw({ item }: { item: ToolItem }) {
  const parts = [item.input, item.output].filter((value) => value !== undefined);
  if (parts.length === 0) return null;
  const label = parts.length === 2 ? "Input and output as they came" : item.input === undefined ? "Output as it came" : "Input as it came";
  return (
    <Fold name={`${item.key}.raw`} summary={<span className="faint">{label}</span>} className="raw-fold">
      {() =>
        parts.map((value, i) =>
          typeof value === "string" ? (
            <Code key={i} text={value} />
          ) : (
            <Code key={i} text={JSON.stringify(value, null, 2)} language="json" />
          ),
        )
      }
    </Fold>
  );
}
