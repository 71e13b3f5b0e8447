// The items of a conversation, as they are shown. Items are values: a change makes a new one, so
// that a row whose item is the same need not be drawn again.
import type { Json } from "../api/json";
import type { ApiItemOf, CommandExit, QueuedPrompt, SlashCommand, CallStatus, Usage } from "../api/types";
import type { GrowingText } from "./split";

interface Base {
  /** Stays the same for as long as the item is there. */
  key: string;
  /** The event that began it. */
  seq: number;
  time: number;
  turn?: string;
}

export type PromptItem = ApiItemOf<"prompt">;

export interface AnswerItem extends Base {
  type: "answer";
  text: GrowingText;
}

export interface ThoughtItem extends Base {
  type: "thought";
  text: string;
  /** Time of its last chunk. */
  until: number;
}

/** A picture, a file or a link that the agent answered with. */
export type ContentItem = ApiItemOf<"content">;

/** The output so far of a terminal that Switchyard serves, as the log has it. */
export interface TerminalOutput {
  text: string;
  exit?: CommandExit;
  /** Its end will not be reported: the process that ran it is gone. */
  isLost?: boolean;
  /** The daemon has left out some of it. */
  isTruncated?: boolean;
}

export interface ToolItem extends Base {
  type: "tool";
  id: string;
  title: string;
  kind: string;
  status: CallStatus;
  input?: unknown;
  output?: unknown;
  content: Json[];
  locations: { path: string; line?: number }[];
  /** Output of its terminals, where the agent sends it with its updates. */
  terminal: string;
  exit?: CommandExit;
  /** The terminals that its content names, by their id, once anything is known of them. */
  terminals?: Readonly<Record<string, TerminalOutput>>;
  /** A question about it is open, and shows what it would do. */
  isAsked?: boolean;
  /** How its command failed, if it ran one that did: `failed with exit code 2`. */
  failure?: string;
  /** For how long it has waited for a person. */
  waitedMs?: number;
  /** The call that this one is a part of. */
  parent?: string;
  until?: number;
}

export type PlanItem = ApiItemOf<"plan">;

export type QuestionItem = ApiItemOf<"question">;

export type NoticeItem = ApiItemOf<"notice">;

export type EndItem = ApiItemOf<"end">;

export type Item = PromptItem | AnswerItem | ThoughtItem | ContentItem | ToolItem | PlanItem | QuestionItem | NoticeItem | EndItem;

/** The state of a session according to its log, up to `seq`. */
export interface Conversation {
  readonly seq: number;
  readonly items: readonly Item[];
  readonly queue: readonly QueuedPrompt[];
  readonly running?: { turn: string; since: number; isCancelling: boolean };
  readonly plan?: PlanItem;
  readonly commands: readonly SlashCommand[];
  readonly usage: Usage;
  readonly title?: string;
  /** Questions that wait for a person, oldest first. */
  readonly waiting: readonly QuestionItem[];
  /** Grows with everything that may change the options of the agent. */
  readonly settings: number;
  /** Places of items that later changes refer to. */
  readonly places: {
    /** By the keys of items. Shared with what grows from this: a place is never another item's. */
    readonly items: Map<string, number>;
    /** By the agent's ids, of calls with the same id the last. */
    readonly tools: ReadonlyMap<string, number>;
    readonly questions: ReadonlyMap<string, number>;
    /** Terminals, and where the calls are that name them. */
    readonly terminals: ReadonlyMap<string, { output: TerminalOutput; calls: readonly number[] }>;
  };
}

/** An empty conversation. */
export function empty(): Conversation {
  return {
    seq: 0,
    items: [],
    queue: [],
    commands: [],
    usage: {},
    waiting: [],
    settings: 0,
    places: { items: new Map(), tools: new Map(), questions: new Map(), terminals: new Map() },
  };
}
