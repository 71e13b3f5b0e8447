// A conversation that is being changed by one batch of events. The conversation that it was
// made from stays as it is; what both share is copied when it is first touched.
import type { LogEvent } from "../api/types";
import type { Conversation, Item, NoticeItem, PlanItem, QueuedPrompt, SlashCommand, TerminalOutput, Usage } from "./items";
import type { Retold } from "./retold";

type Running = Conversation["running"];

interface Terminal {
  output: TerminalOutput;
  calls: readonly number[];
}

// Those that were named stay in their calls; of the rest nobody asks after so many others.
const MOST_TERMINALS = 1_000;

export class Draft {
  seq: number;
  queue: readonly QueuedPrompt[];
  running: Running;
  plan: PlanItem | undefined;
  commands: readonly SlashCommand[];
  usage: Usage;
  title: string | undefined;
  settings: number;
  planPlace: number | undefined;
  retold: Retold;

  #from: Conversation;
  #items: Item[];
  /** Items from here on, and those in the set, were made by this batch and may be changed. */
  #owned = new Set<number>();
  #firstOwn: number;
  #tools: Map<string, number> | undefined;
  #openTools: Set<string> | undefined;
  #questions: Map<string, number> | undefined;
  #haveQuestionsChanged = false;
  #terminals: Map<string, Terminal> | undefined;

  constructor(from: Conversation) {
    this.#from = from;
    this.#items = from.items.slice();
    this.#firstOwn = this.#items.length;
    this.seq = from.seq;
    this.queue = from.queue;
    this.running = from.running;
    this.plan = from.plan;
    this.commands = from.commands;
    this.usage = from.usage;
    this.title = from.title;
    this.settings = from.settings;
    this.planPlace = from.places.plan;
    this.retold = from.places.retold;
  }

  get last(): Item | undefined {
    return this.#items[this.#items.length - 1];
  }

  get lastPlace(): number {
    return this.#items.length - 1;
  }

  push(item: Item): number {
    return this.#items.push(item) - 1;
  }

  at(place: number): Item | undefined {
    return this.#items[place];
  }

  /** Changes the item at a place. Within a batch the same object is changed again. */
  change<T extends Item>(place: number, changes: Partial<T>): void {
    const item = this.#items[place];
    if (!item) return;
    if (place >= this.#firstOwn || this.#owned.has(place)) Object.assign(item, changes);
    else {
      this.#items[place] = { ...item, ...changes };
      this.#owned.add(place);
    }
  }

  toolPlace(id: string): number | undefined {
    return (this.#tools ?? this.#from.places.tools).get(id);
  }

  noteTool(id: string, place: number): void {
    this.#tools ??= new Map(this.#from.places.tools);
    this.#tools.set(id, place);
  }

  /** Whether a call's end is still to come. */
  noteOpen(id: string, isOpen: boolean): void {
    const open = this.#openTools ?? this.#from.places.openTools;
    if (open.has(id) === isOpen) return;
    this.#openTools ??= new Set(open);
    if (isOpen) this.#openTools.add(id);
    else this.#openTools.delete(id);
  }

  get openTools(): ReadonlySet<string> {
    return this.#openTools ?? this.#from.places.openTools;
  }

  terminal(id: string): Terminal | undefined {
    return (this.#terminals ?? this.#from.places.terminals).get(id);
  }

  get terminals(): ReadonlyMap<string, Terminal> {
    return this.#terminals ?? this.#from.places.terminals;
  }

  noteTerminal(id: string, terminal: Terminal): void {
    this.#terminals ??= new Map(this.#from.places.terminals);
    this.#terminals.set(id, terminal);
    const [oldest] = this.#terminals.keys();
    if (this.#terminals.size > MOST_TERMINALS && oldest !== undefined) this.#terminals.delete(oldest);
  }

  get hasQuestions(): boolean {
    return (this.#questions ?? this.#from.places.questions).size > 0;
  }

  questionPlace(id: string): number | undefined {
    return (this.#questions ?? this.#from.places.questions).get(id);
  }

  noteQuestion(id: string, place: number): void {
    this.#questions ??= new Map(this.#from.places.questions);
    this.#questions.set(id, place);
    this.#haveQuestionsChanged = true;
  }

  /** A question is over: it need not be found again. */
  forgetQuestion(id: string): void {
    this.#questions ??= new Map(this.#from.places.questions);
    this.#questions.delete(id);
    this.#haveQuestionsChanged = true;
  }

  notice(event: LogEvent, notice: Pick<NoticeItem, "tone" | "title" | "detail" | "by" | "more" | "words">): void {
    this.push({ type: "notice", ...placed(event), ...notice });
  }

  done(): Conversation {
    const questions = this.#questions ?? this.#from.places.questions;
    return {
      seq: this.seq,
      items: this.#items,
      queue: this.queue,
      running: this.running,
      plan: this.plan,
      commands: this.commands,
      usage: this.usage,
      title: this.title,
      settings: this.settings,
      waiting: this.#haveQuestionsChanged ? this.#waiting(questions) : this.#from.waiting,
      places: {
        tools: this.#tools ?? this.#from.places.tools,
        openTools: this.openTools,
        questions,
        terminals: this.#terminals ?? this.#from.places.terminals,
        plan: this.planPlace,
        retold: this.retold,
      },
    };
  }

  #waiting(questions: ReadonlyMap<string, number>) {
    const waiting = [];
    for (const place of questions.values()) {
      const item = this.#items[place];
      if (item?.type === "question" && item.isForPerson && !item.resolution) waiting.push(item);
    }
    return waiting;
  }
}

/** What every item takes over from the event that begins it. */
export function placed(event: LogEvent): { key: string; seq: number; time: number; turn?: string } {
  return { key: `e${event.seq}`, seq: event.seq, time: event.time, turn: event.turn };
}
