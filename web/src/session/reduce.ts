// The log's events in, the conversation out. Pure: the same events give the same conversation,
// however they are cut into batches; an event that was applied already changes nothing.
import type { LogEvent, Own, OwnEvent } from "../api/types";
import { Draft, placed } from "./draft";
import type { Conversation, Item } from "./items";
import { askQuestion, resolveQuestion } from "./questions";
import { object, text, list, type Json } from "./read";
import { heard } from "./retold";
import { wholeText } from "./split";
import { ended, loseTerminals, printed } from "./terminals";
import { applyUpdate } from "./updates";

export function reduce(before: Conversation, events: readonly LogEvent[]): Conversation {
  let draft: Draft | undefined;
  for (const event of events) {
    if (event.seq <= (draft ?? before).seq) continue;
    draft ??= new Draft(before);
    draft.seq = event.seq;
    try {
      apply(draft, event);
    } catch {
      // A daemon that was renewed meanwhile may write what this page cannot read.
      draft.notice(event, { tone: "warning", title: `This page cannot show an event: ${event.kind}`, detail: "reload the page" });
    }
  }
  return draft ? draft.done() : before;
}

function apply(draft: Draft, event: LogEvent): void {
  draft.retold = heard(draft.retold, event);
  // Kinds that are not Switchyard's own are an agent's, and come to the default.
  const { kind, payload } = event as OwnEvent;
  switch (kind) {
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
          by: payload.by,
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
      return turnEnded(draft, event, payload);
    case "cancel_requested":
      if (draft.running) draft.running = { ...draft.running, isCancelling: true };
      return draft.notice(event, { tone: "info", title: "Stop requested", by: payload.by || undefined });
    case "cancel_step":
      return cancelStep(draft, event, payload);
    case "permission_requested":
      return askQuestion(draft, event, payload, "permission");
    case "elicitation_requested":
      return askQuestion(draft, event, payload, "elicitation");
    case "permission_resolved": {
      const { allowed, outcome } = payload;
      return resolveQuestion(draft, event, payload, { allowed, choice: outcome?.name ?? outcome?.optionId ?? outcome?.outcome });
    }
    case "elicitation_resolved":
      return resolveQuestion(draft, event, payload, { response: object(payload.response) });
    case "limit_reached":
      return draft.notice(event, {
        tone: "warning",
        title: `Limit reached: ${payload.limit}`,
        detail: `${payload.used} used of ${payload.allowed}; the session pauses${payload.frozen ? " and the agent is stopped meanwhile" : ""}`,
      });
    case "limit_raised":
      return draft.notice(event, {
        tone: "info",
        title: `Limit raised: ${payload.limit}`,
        detail: payload.allowed == null ? "no limit any more" : `up to ${payload.allowed}`,
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
        title: `Message of the agent: ${payload.method}`,
        more: JSON.stringify(payload.params, null, 2),
      });
    case "terminal_output":
      return printed(draft, payload);
    case "terminal_exited":
      return ended(draft, event, payload);
    case "agent_quiet":
      // An agent that waits for an answer has nothing to say.
      if (draft.hasQuestions) return;
      return draft.notice(event, {
        tone: "info",
        title: `Nothing heard from the agent for ${Math.round(payload.quietMs / 1000)} s`,
        detail: payload.waitingFor,
      });
    case "error":
      return draft.notice(event, {
        tone: "error",
        title: payload.message || "Something went wrong",
        detail: payload.remedy,
      });
    case "log_recovered":
      return draft.notice(event, {
        tone: "error",
        title: "Events were lost",
        detail: `Events ${payload.lostFrom} to ${payload.lostTo} were acknowledged and are not in the log any more.`,
      });
    default:
      return applyUpdate(draft, event, object(object(event.payload).update));
  }
}

function created(draft: Draft, event: LogEvent, { agent, cwd, forkedFrom }: Own<"session_created">): void {
  const title = forkedFrom ? `Forked from ${forkedFrom}` : `Session with ${agent || "an agent"}`;
  draft.notice(event, { tone: "info", title, detail: cwd });
}

function resumed(draft: Draft, event: LogEvent, { how, verified, ...payload }: Own<"session_resumed">): void {
  draft.settings += 1;
  const changed = payload.changed?.join(", ");
  // An agent that remembers everything is what one expects: only the rest is worth a line.
  if (how !== "reseed" && how !== "new" && !changed && verified !== "unchecked") return;
  draft.notice(event, {
    tone: how === "new" ? "warning" : "info",
    title:
      how === "reseed"
        ? "The agent was started anew and told what was said before"
        : how === "new"
          ? "The agent was started anew and does not know what was said before"
          : "The agent was given the session back",
    detail: changed ?? (verified === "unchecked" ? "whether it remembers could not be checked" : undefined),
  });
}

function optionSet(draft: Draft, event: LogEvent, { method, by, ...payload }: Own<"option_set">): void {
  draft.settings += 1;
  const params = object(payload.params);
  const name = method.endsWith("set_mode")
    ? `Mode: ${show(params.modeId)}`
    : method.endsWith("set_model")
      ? `Model: ${show(params.modelId)}`
      : method.endsWith("set_limits")
        ? `Limits: ${limits(object(params.limits))}`
        : `${capital(text(params.configId) ?? "Option")}: ${show(params.value)}`;
  draft.notice(event, { tone: "info", title: name, by });
}

function dropped(draft: Draft, event: LogEvent, { reason }: Own<"prompt_dropped">): void {
  const prompt = draft.queue.find((queued) => queued.turn === event.turn);
  if (!prompt) return;
  draft.queue = draft.queue.filter((queued) => queued !== prompt);
  draft.notice(event, {
    tone: "info",
    title: `A prompt that waited was dropped and not sent: ${reason ?? "no reason given"}`,
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

function turnEnded(draft: Draft, event: LogEvent, payload: Own<"turn_ended">): void {
  for (const id of draft.openTools) {
    const place = draft.toolPlace(id);
    if (place !== undefined) draft.change(place, { status: "abandoned", until: event.time });
    draft.noteOpen(id, false);
  }
  const running = draft.running;
  const error = payload.error;
  const usage = object(payload.usage);
  // The daemon was away meanwhile, and so is what it ran.
  if (error?.category === "interrupted") loseTerminals(draft);
  draft.push({
    type: "end",
    ...placed(event),
    stopReason: payload.stopReason ?? "unknown",
    usage: Object.keys(usage).length > 0 ? usage : undefined,
    isUsagePartial: payload.usageOf === "last_call" || undefined,
    tookMs: running && running.turn === event.turn ? event.time - running.since : undefined,
    error: error && { ...error, isSaid: hasSaid(draft.last, event, error.message) },
  });
  draft.running = undefined;
}

/** Some agents tell an error as their answer, and then that there was one. */
function hasSaid(last: Item | undefined, event: LogEvent, message: string): boolean {
  return last?.type === "answer" && last.turn === event.turn && wholeText(last.text).trimEnd().endsWith(message.trimEnd());
}

function cancelStep(draft: Draft, event: LogEvent, { step }: Own<"cancel_step">): void {
  const words: Partial<Record<typeof step, string>> = {
    eof: "The agent did not stop; its input was closed",
    terminate: "The agent did not stop; it is asked to end",
    kill: "The agent did not stop; it was killed",
  };
  const title = words[step];
  if (title) draft.notice(event, { tone: "warning", title });
}

function exited(draft: Draft, event: LogEvent, { code, signal, stopped, stderr }: Own<"worker_exited">): void {
  loseTerminals(draft);
  draft.settings += 1;
  if (stopped) return;
  draft.notice(event, {
    tone: code === 0 ? "info" : "warning",
    title: `The agent ended${code !== undefined ? ` with exit code ${code}` : signal ? ` by signal ${signal}` : ""}`,
    more: stderr || undefined,
  });
}

/** Lines that follow each other are one folded notice. */
function stderr(draft: Draft, event: LogEvent, { text: line }: Own<"agent_stderr">): void {
  const last: Item | undefined = draft.last;
  if (last?.type === "notice" && last.title === STDERR && last.turn === event.turn) {
    draft.change(draft.lastPlace, { more: `${last.more ?? ""}\n${line}` });
  } else draft.notice(event, { tone: "info", title: STDERR, more: line });
}

const STDERR = "Diagnostics of the agent";

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
