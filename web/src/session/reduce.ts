// The log's events in, the conversation out. Pure: the same events give the same conversation,
// however they are cut into batches; an event that was applied already changes nothing.
import type { LogEvent } from "../api/types";
import { Draft, placed } from "./draft";
import type { Conversation, Item } from "./items";
import { askQuestion, resolveQuestion } from "./questions";
import { object, number, text, list, type Json } from "./read";
import { heard } from "./retold";
import { wholeText } from "./split";
import { applyTerminal, loseTerminals } from "./terminals";
import { applyUpdate } from "./updates";

export function reduce(before: Conversation, events: readonly LogEvent[]): Conversation {
  let draft: Draft | undefined;
  for (const event of events) {
    if (event.seq <= (draft ?? before).seq) continue;
    draft ??= new Draft(before);
    draft.seq = event.seq;
    apply(draft, event);
  }
  return draft ? draft.done() : before;
}

function apply(draft: Draft, event: LogEvent): void {
  const payload = object(event.payload);
  draft.retold = heard(draft.retold, event);
  switch (event.kind) {
    case "session_created":
      return created(draft, event, payload);
    case "session_resumed":
      return resumed(draft, event, payload);
    case "session_closed":
      return draft.notice(event, { tone: "info", title: "Session closed" });
    case "option_set":
      return optionSet(draft, event, payload);
    case "prompt_received":
      draft.queue = [
        ...draft.queue,
        {
          turn: event.turn ?? `e${event.seq}`,
          by: text(payload.by),
          time: event.time,
          seq: event.seq,
          blocks: list(payload.prompt).map(object),
        },
      ];
      return;
    case "prompt_dropped":
      return dropped(draft, event, payload);
    case "turn_started":
      return started(draft, event);
    case "turn_ended":
      return ended(draft, event, payload);
    case "cancel_requested":
      if (draft.running) draft.running = { ...draft.running, isCancelling: true };
      return draft.notice(event, { tone: "info", title: "Stop requested", by: byWhom(payload.by) });
    case "cancel_step":
      return cancelStep(draft, event, payload);
    case "permission_requested":
    case "elicitation_requested":
      return askQuestion(draft, event, payload);
    case "permission_resolved":
    case "elicitation_resolved":
      return resolveQuestion(draft, event, payload);
    case "limit_reached":
      return draft.notice(event, {
        tone: "warning",
        title: `Limit reached: ${text(payload.limit) ?? "unknown"}`,
        detail: `${show(payload.used)} used of ${show(payload.allowed)}; the session pauses${payload.frozen === true ? " and the agent is stopped meanwhile" : ""}`,
      });
    case "limit_raised":
      return draft.notice(event, {
        tone: "info",
        title: `Limit raised: ${text(payload.limit) ?? "unknown"}`,
        detail: payload.allowed === null ? "no limit any more" : `up to ${show(payload.allowed)}`,
      });
    case "worker_started":
      // The one before may have gone in a crash that nobody could log.
      loseTerminals(draft);
      draft.settings += 1;
      return;
    case "worker_exited":
      return exited(draft, event, payload);
    case "agent_stderr":
      return stderr(draft, event, payload);
    case "agent_notification":
      return draft.notice(event, {
        tone: "info",
        title: `Message of the agent: ${text(payload.method) ?? "unknown"}`,
        more: JSON.stringify(payload.params, null, 2),
      });
    case "terminal_output":
    case "terminal_exited":
      return applyTerminal(draft, event, payload);
    case "agent_quiet":
      // An agent that waits for an answer has nothing to say.
      if (draft.hasQuestions) return;
      return draft.notice(event, {
        tone: "info",
        title: `Nothing heard from the agent for ${Math.round((number(payload.quietMs) ?? 0) / 1000)} s`,
        detail: text(payload.waitingFor),
      });
    case "error":
      return draft.notice(event, {
        tone: "error",
        title: text(payload.message) ?? "Something went wrong",
        detail: text(payload.remedy),
      });
    case "log_recovered":
      return draft.notice(event, {
        tone: "error",
        title: "Events were lost",
        detail: `Events ${show(payload.lostFrom)} to ${show(payload.lostTo)} were acknowledged and are not in the log any more.`,
      });
    default:
      return applyUpdate(draft, event, object(payload.update));
  }
}

function created(draft: Draft, event: LogEvent, payload: Json): void {
  const from = text(payload.forkedFrom) ?? text(object(payload.forkedFrom).session);
  draft.notice(event, {
    tone: "info",
    title: from ? `Forked from ${from}` : `Session with ${text(payload.agent) ?? "an agent"}`,
    detail: text(payload.cwd),
  });
}

function resumed(draft: Draft, event: LogEvent, payload: Json): void {
  draft.settings += 1;
  const how = text(payload.how);
  const changed = list(payload.changed).map(String).join(", ") || text(payload.changed);
  // An agent that remembers everything is what one expects: only the rest is worth a line.
  if (how !== "reseed" && how !== "new" && !changed && payload.verified !== "unchecked") return;
  draft.notice(event, {
    tone: how === "new" ? "warning" : "info",
    title:
      how === "reseed"
        ? "The agent was started anew and told what was said before"
        : how === "new"
          ? "The agent was started anew and does not know what was said before"
          : "The agent was given the session back",
    detail: changed ?? (payload.verified === "unchecked" ? "whether it remembers could not be checked" : undefined),
  });
}

function optionSet(draft: Draft, event: LogEvent, payload: Json): void {
  draft.settings += 1;
  const params = object(payload.params);
  const method = text(payload.method) ?? "";
  const name = method.endsWith("set_mode")
    ? `Mode: ${show(params.modeId)}`
    : method.endsWith("set_model")
      ? `Model: ${show(params.modelId)}`
      : method.endsWith("set_limits")
        ? `Limits: ${limits(object(params.limits))}`
        : `${capital(text(params.configId) ?? "Option")}: ${show(params.value)}`;
  draft.notice(event, { tone: "info", title: name, by: byWhom(payload.by) });
}

function dropped(draft: Draft, event: LogEvent, payload: Json): void {
  const prompt = draft.queue.find((queued) => queued.turn === event.turn);
  if (!prompt) return;
  draft.queue = draft.queue.filter((queued) => queued !== prompt);
  draft.notice(event, {
    tone: "info",
    title: `A prompt that waited was dropped and not sent: ${text(payload.reason) ?? "no reason given"}`,
    words: prompt.blocks.flatMap((block) => text(block.text) ?? []).join("\n"),
  });
}

function started(draft: Draft, event: LogEvent): void {
  const prompt = draft.queue.find((queued) => queued.turn === event.turn);
  if (prompt) {
    draft.queue = draft.queue.filter((queued) => queued !== prompt);
    draft.push({ type: "prompt", ...placed(event), key: `p${prompt.seq}`, time: prompt.time, by: prompt.by, blocks: prompt.blocks });
  }
  draft.running = { turn: event.turn ?? "", since: event.time, isCancelling: false };
  // What was planned in a turn before says nothing about this one.
  draft.planPlace = undefined;
  draft.plan = undefined;
}

function ended(draft: Draft, event: LogEvent, payload: Json): void {
  for (const id of draft.openTools) {
    const place = draft.toolPlace(id);
    if (place !== undefined) draft.change(place, { status: "abandoned", until: event.time });
    draft.noteOpen(id, false);
  }
  const running = draft.running;
  const error = object(payload.error);
  const message = text(error.message);
  const usage = object(payload.usage);
  // The daemon was away meanwhile, and so is what it ran.
  if (error.category === "interrupted") loseTerminals(draft);
  draft.push({
    type: "end",
    ...placed(event),
    stopReason: text(payload.stopReason) ?? "unknown",
    usage: Object.keys(usage).length > 0 ? usage : undefined,
    isUsagePartial: text(payload.usageOf) === "last_call" || undefined,
    tookMs: running && running.turn === event.turn ? event.time - running.since : undefined,
    error:
      message === undefined
        ? undefined
        : { message, category: text(error.category), remedy: text(error.remedy), isSaid: hasSaid(draft.last, event, message) },
  });
  draft.running = undefined;
}

/** Some agents tell an error as their answer, and then that there was one. */
function hasSaid(last: Item | undefined, event: LogEvent, message: string): boolean {
  return last?.type === "answer" && last.turn === event.turn && wholeText(last.text).trimEnd().endsWith(message.trimEnd());
}

function cancelStep(draft: Draft, event: LogEvent, payload: Json): void {
  const words: Record<string, string> = {
    eof: "The agent did not stop; its input was closed",
    terminate: "The agent did not stop; it is asked to end",
    kill: "The agent did not stop; it was killed",
  };
  const title = words[text(payload.step) ?? ""];
  if (title) draft.notice(event, { tone: "warning", title });
}

function exited(draft: Draft, event: LogEvent, payload: Json): void {
  loseTerminals(draft);
  draft.settings += 1;
  if (payload.stopped === true) return;
  const code = number(payload.code);
  draft.notice(event, {
    tone: code === 0 ? "info" : "warning",
    title: `The agent ended${code !== undefined ? ` with exit code ${code}` : payload.signal ? ` by signal ${show(payload.signal)}` : ""}`,
    more: text(payload.stderr) || undefined,
  });
}

/** Lines that follow each other are one folded notice. */
function stderr(draft: Draft, event: LogEvent, payload: Json): void {
  const line = text(payload.text) ?? "";
  const last: Item | undefined = draft.last;
  if (last?.type === "notice" && last.title === STDERR && last.turn === event.turn) {
    draft.change(draft.lastPlace, { more: `${last.more ?? ""}\n${line}` });
  } else draft.notice(event, { tone: "info", title: STDERR, more: line });
}

const STDERR = "Diagnostics of the agent";

function byWhom(by: unknown): string | undefined {
  return text(by) ?? text(object(by).detail) ?? text(object(by).who);
}

function limits(all: Json): string {
  const parts = Object.entries(all).map(([name, value]) => `${name} ${show(value)}`);
  return parts.length > 0 ? parts.join(", ") : "none";
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

export function show(value: unknown): string {
  return typeof value === "string" ? value : value === undefined ? "?" : JSON.stringify(value);
}
