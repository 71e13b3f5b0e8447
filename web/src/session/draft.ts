// A conversation that is being changed by one batch of changes. The conversation that it was
// made from stays as it is; what both share is copied when it is first touched.
import type { Conversation, Item, PlanItem, TerminalOutput } from "./items";
import type { QueuedPrompt, SlashCommand, Usage } from "../api/types";

type Running = Conversation["running"];

interface Terminal {
  output: TerminalOutput;
  calls: readonly number[];
}

// The most terminals that are kept: calls keep those that they have named, nobody needs the others.
const MOST_TERMINALS = 1_000;

export class ConversationDraft {
  seq: number;
  queue: readonly QueuedPrompt[];
  running: Running;
  plan: PlanItem | undefined;
  commands: readonly SlashCommand[];
  usage: Usage;
  title: string | undefined;
  settings: number;

  #from: Conversation;
  #items: Item[];
  /** Items from here on, and those in the set, were made by this batch and may be changed. */
  #owned = new Set<number>();
  #firstOwn: number;
  #tools: Map<string, number> | undefined;
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
  }

  /** The place of the item with a key. */
  place(key: string): number | undefined {
    return this.#from.places.items.get(key);
  }

  push(item: Item): number {
    const place = this.#items.push(item) - 1;
    this.#from.places.items.set(item.key, place);
    return place;
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
        items: this.#from.places.items,
        tools: this.#tools ?? this.#from.places.tools,
        questions,
        terminals: this.#terminals ?? this.#from.places.terminals,
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
