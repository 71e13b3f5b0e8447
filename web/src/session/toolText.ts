// Texts of a tool call: its command, and its output.
import { list, object, text, type Json } from "../api/json";

/** The command, as one could type it into a shell. */
export function commandOf(input: unknown): string | undefined {
  const { command, args } = object(input);
  if (Array.isArray(command)) return command.map(quoted).join(" ");
  const words = text(command) ?? text(object(input).cmd);
  if (words === undefined || !Array.isArray(args)) return words;
  return [quoted(words), ...args.map(quoted)].join(" ");
}

/** A call's action in a few words: its command, else the files that it is about. */
export function actionOf(call: Json): string | undefined {
  const command = commandOf(call.rawInput);
  if (command !== undefined) return command;
  const paths = [
    ...list(call.content)
      .map(object)
      .filter((part) => part.type === "diff"),
    ...list(call.locations).map(object),
  ].flatMap((each) => text(each.path) ?? []);
  const [path = text(object(call.rawInput).path) ?? text(object(call.rawInput).file_path)] = paths;
  const others = new Set(paths).size - 1;
  return path !== undefined && others > 0 ? `${path} and ${others} more` : path;
}

/** One word of a command: `a b` is one argument, and must not look like two. */
function quoted(word: unknown): string {
  const plain = typeof word === "string" ? word : (JSON.stringify(word) ?? "");
  return /^[\w@%+=:,./-]+$/.test(plain) ? plain : `'${plain.replaceAll("'", "'\\''")}'`;
}

/** The input without the command. */
export function inputBeside(input: unknown): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input) || commandOf(input) === undefined) return input;
  // A second command is none of what is shown.
  const { command, args } = object(input);
  const isFirst = Array.isArray(command) || text(command) !== undefined;
  const shown = [isFirst ? "command" : "cmd", ...(Array.isArray(args) && !Array.isArray(command) ? ["args"] : [])];
  const rest = Object.entries(input).filter(([name, value]) => !shown.includes(name) && value !== null);
  return rest.length > 0 ? Object.fromEntries(rest) : undefined;
}

/** The output of a program, where the raw output has it in one of the usual ways. */
export function outputOf(raw: unknown): string | undefined {
  if (typeof raw === "string") return raw;
  const output = object(raw);
  for (const name of ["output", "aggregated_output", "formatted_output", "stdout", "stderr", "error"]) {
    const words = text(output[name]);
    if (words) return name === "stdout" && text(output.stderr) ? `${words}\n${text(output.stderr) ?? ""}` : words;
  }
  return undefined;
}

/** The inside of text that is one fenced block and nothing else. Looks at each end once. */
export function unfenced(words: string): string {
  const start = words.search(/\S/);
  const newline = words.indexOf("\n", start);
  if (start < 0 || newline < 0) return words;
  const marks = /^(`{3,}|~{3,})/.exec(words.slice(start, Math.min(newline, start + 200)))?.[0];
  if (marks === undefined) return words;
  const end = words.trimEnd();
  // A longer fence ends it as well, so all marks at the end are counted.
  let from = end.length;
  while (from > newline + 1 && end[from - 1] === marks[0]) from -= 1;
  if (end.length - from < marks.length) return words;
  const inside = end.slice(newline + 1, from);
  return inside.endsWith("\n") ? inside.slice(0, -1) : inside;
}
