// The details of what would be done, so that nobody has to trust the title of a question.
import { useContext } from "react";
import { Code } from "../../render/Code";
import { Content } from "../../render/Content";
import { Limited } from "../../render/Limited";
import type { QuestionItem } from "../../session/items";
import { list, number, object, text, type Json } from "../../api/json";
import { commandOf, inputBeside, unfenced } from "../../session/toolText";
import { unshownInput } from "../../session/unshownInput";
import { SessionContext } from "./context";
import { Fold } from "./Fold";
import { CommandBlock, Diffs, Places } from "./ToolParts";

export function About({ item }: { item: QuestionItem }) {
  const { cwd } = useContext(SessionContext);
  if (item.form === "elicitation") return null;
  const call = object(item.request.toolCall);
  const command = commandOf(call.rawInput);
  const parts = list(call.content).map(object);
  const diffs = parts.filter((part) => part.type === "diff");
  const contents = parts.filter((part) => part.type === "content" && !says(part, command));
  const input = withoutShown(inputBeside(call.rawInput), parts, cwd);
  // A diff is what the agent shows; the rest of the tool's input stands by itself.
  const rest = diffs.length > 0 ? unshownInput(input, diffs, cwd) : input;
  const changed = new Set(diffs.map((diff) => text(diff.path)));
  const places = list(call.locations).flatMap((each) => {
    const path = text(object(each).path);
    return path === undefined || changed.has(path) ? [] : [{ path, line: number(object(each).line) }];
  });
  const isBare = command === undefined && !isSome(input) && parts.length === 0 && places.length === 0;
  return (
    <>
      {command !== undefined && <CommandBlock command={command} />}
      <Places places={places} />
      {diffs.length > 0 && isSome(rest) && <Input value={rest} />}
      <Diffs parts={diffs} />
      <Limited items={contents} shown={5} noun="parts">
        {(some) => some.map((part, i) => <Content key={i} block={object(part.content)} />)}
      </Limited>
      {isSome(input) &&
        // A diff shows the same in a form that can be read, and what it does not show stands above.
        (diffs.length > 0 ? (
          <Fold name={`${item.key}.input`} summary={<span className="faint">Input as it came</span>} className="raw-fold">
            {() => <Input value={input} />}
          </Fold>
        ) : (
          <Input value={input} />
        ))}
      {isBare && !item.limit && <p className="faint small">The agent does not say what exactly it would do.</p>}
    </>
  );
}

function isSome(input: unknown): boolean {
  if (typeof input === "number" || typeof input === "boolean") return true;
  return input !== undefined && input !== null && Object.keys(Object(input) as object).length > 0;
}

/** Whether a part of the content is this text and nothing else. */
function says(part: Json, words: string | undefined): boolean {
  return unfenced(text(object(part.content).text) ?? "").trim() === words?.trim();
}

/** The input that is not shown elsewhere: neither in the content, nor above as the session's own directory. */
function withoutShown(input: unknown, parts: Json[], cwd: string): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const isShown = ([name, value]: [string, unknown]) =>
    typeof value === "string" && ((name === "cwd" && value === cwd) || parts.some((part) => says(part, value)));
  return Object.fromEntries(Object.entries(input).filter((each) => !isShown(each)));
}

function Input({ value }: { value: unknown }) {
  return (
    <div className="asked-input" role="group" aria-label="Input">
      {typeof value === "string" ? <Code text={value} /> : <Code text={JSON.stringify(value, null, 2) ?? ""} language="json" />}
    </div>
  );
}
