// A tool call: what it does, how it stands, what went in and what came out.
import { useContext, type ReactNode } from "react";
import type { IconName } from "../../parts/Icon";
import { duration } from "../../parts/Time";
import { Code } from "../../render/Code";
import { Content } from "../../render/Content";
import { Diff } from "../../render/Diff";
import { Terminal } from "../../render/Terminal";
import { visible } from "../../render/visible";
import type { ToolItem, ToolStatus } from "../../session/items";
import { object, text, type Json } from "../../session/read";
import { InSession, shortPath } from "./context";
import { Fold } from "./Fold";

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

const WORDS: Record<ToolStatus, string> = {
  pending: "Pending",
  in_progress: "Running",
  completed: "Done",
  failed: "Failed",
  abandoned: "No result",
};

export function ToolCard({ item, isLive }: { item: ToolItem; isLive: boolean }) {
  const { cwd } = useContext(InSession);
  const diffs = item.content.filter((part) => part.type === "diff");
  const isRunning = item.status === "in_progress" || item.status === "pending";
  // What changes files, fails or runs right now is worth seeing without a click.
  const isOpenAtFirst = diffs.length > 0 || item.status === "failed" || (isRunning && isLive);
  const title = item.title || item.id;
  return (
    <Fold
      name={item.key}
      icon={ICONS[item.kind] ?? "other"}
      isOpenAtFirst={isOpenAtFirst}
      className={`card tool-card ${item.status} ${item.parent ? "nested" : ""}`}
      summary={
        <>
          <span className="tool-title" title={visible(title).slice(0, 500)}>
            <TitleText text={(cwd ? title.replaceAll(`${cwd}/`, "") : title).slice(0, 300)} />
          </span>
          {item.until !== undefined && item.until - item.time >= 1000 && <span className="faint">{duration(item.until - item.time)}</span>}
          <Status status={item.status} />
        </>
      }
    >
      {() => <ToolBody item={item} />}
    </Fold>
  );
}

function Status({ status }: { status: ToolStatus }) {
  const tone = { pending: "", in_progress: "accent", completed: "good", failed: "bad", abandoned: "warn" }[status];
  return (
    <span className={`badge tool-status ${tone}`}>
      {status === "in_progress" && <span className="dot-running" aria-hidden="true" />}
      {WORDS[status]}
    </span>
  );
}

function ToolBody({ item }: { item: ToolItem }) {
  const { cwd } = useContext(InSession);
  const command = commandOf(item.input);
  const parts = item.content.map((part, i) => <Part key={i} part={part} item={item} />);
  const output = outputOf(item);
  const hasTerminal = item.content.some((part) => part.type === "terminal");
  return (
    <div className="tool-body">
      {command !== undefined && (
        <pre className="command" tabIndex={0} role="group" aria-label="Command">
          <code>{visible(command)}</code>
        </pre>
      )}
      {item.locations.length > 0 && !item.content.some((part) => part.type === "diff") && (
        <ul className="locations" aria-label="Places">
          {item.locations.map((place, i) => (
            <li key={i} className="mono" title={visible(place.path)}>
              {visible(shortPath(place.path, cwd))}
              {place.line !== undefined && `:${place.line}`}
            </li>
          ))}
        </ul>
      )}
      {parts}
      {!hasTerminal && item.terminal !== "" && <Terminal text={item.terminal} />}
      {output !== undefined && (item.content.length === 0 || hasTerminal) && item.terminal === "" && <Terminal text={output} />}
      {item.exit && <p className="faint small">Exit {item.exit.signal ? `by ${item.exit.signal}` : `code ${item.exit.code ?? "?"}`}</p>}
      <Raw item={item} />
    </div>
  );
}

function Part({ part, item }: { part: Json; item: ToolItem }): ReactNode {
  const { cwd } = useContext(InSession);
  if (part.type === "diff") {
    return <Diff path={shortPath(text(part.path) ?? "file", cwd)} before={text(part.oldText)} after={text(part.newText) ?? ""} />;
  }
  if (part.type === "terminal") {
    if (item.terminal !== "") return <Terminal text={item.terminal} />;
    return item.status === "in_progress" ? <p className="faint small">A terminal runs; its output comes when the agent tells it.</p> : null;
  }
  const block = object(part.content);
  const words = text(block.text);
  // Output of commands is mostly given as one fenced block: it is a terminal's, not prose.
  if (item.kind === "execute" && block.type === "text" && words !== undefined) return <Terminal text={unfenced(words)} />;
  return <Content block={block} />;
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
          typeof value === "string" ? <Code key={i} text={value} /> : <Code key={i} text={JSON.stringify(value, null, 2)} language="json" />,
        )
      }
    </Fold>
  );
}

/** A title with what stands between backticks as code. */
export function TitleText({ text: words }: { text: string }): ReactNode {
  return words.split(/`([^`]+)`/).map((part, i) => (i % 2 === 1 ? <code key={i}>{visible(part)}</code> : visible(part)));
}

export function commandOf(input: unknown): string | undefined {
  const { command } = object(input);
  if (Array.isArray(command)) return command.map(String).join(" ");
  return text(command) ?? text(object(input).cmd);
}

/** What a program printed, where the raw output says it in one of the usual ways. */
export function outputOf(item: Pick<ToolItem, "output">): string | undefined {
  if (typeof item.output === "string") return item.output;
  const output = object(item.output);
  for (const name of ["output", "aggregated_output", "formatted_output", "stdout", "stderr", "error"]) {
    const words = text(output[name]);
    if (words) return name === "stdout" && text(output.stderr) ? `${words}\n${text(output.stderr) ?? ""}` : words;
  }
  return undefined;
}

export function unfenced(words: string): string {
  const match = /^\s*(`{3,}|~{3,})[^\n]*\n([\s\S]*?)\n?\1\s*$/.exec(words);
  return match ? (match[2] ?? "") : words;
}
