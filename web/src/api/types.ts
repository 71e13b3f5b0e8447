// Short names for what the daemon's OpenAPI document describes, and the shapes that the
// document leaves open because they come from agents.
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Session = Schemas["Session"];
export type SessionPage = Schemas["SessionPage"];
export type SessionStatus = Schemas["SessionStatus"];
export type NewSession = Schemas["NewSession"];
export type SessionPatch = Schemas["SessionPatch"];
export type AgentOptions = Schemas["AgentOptions"];
export type SelectableOption = Schemas["SelectableOption"];
export type Permission = Schemas["Permission"];
export type PermissionAnswer = Schemas["PermissionAnswer"];
export type QuestionDecision = Schemas["QuestionDecision"];
export type Attachment = Schemas["Attachment"];
export type PromptReceipt = Schemas["PromptReceipt"];
export type DirectoryList = Schemas["DirectoryList"];
export type ProblemBody = Schemas["Problem"];

/** One entry of a session's log: an event of Switchyard's own, or an update of the agent. */
export type LogEvent = Omit<Schemas["LogEvent"], "payload"> & { payload: unknown };

/** The changes that an event makes in the conversation. */
export type ConversationChanges = Schemas["ConversationChanges"];
export type ConversationChange = Schemas["ConversationChange"];
export type ApiItem = Schemas["ConversationItem"];
/** Items of one kind. */
export type ApiItemOf<K extends ApiItem["type"]> = Extract<ApiItem, { type: K }>;
export type ApiToolItem = Schemas["ToolItem"];
export type CallStatus = Schemas["CallStatus"];
export type CommandExit = Schemas["CommandExit"];
export type PlanStep = Schemas["PlanStep"];
export type QuestionOption = Schemas["QuestionOption"];
export type Resolution = Schemas["Resolution"];
export type QueuedPrompt = Schemas["QueuedPrompt"];
export type SlashCommand = Schemas["SlashCommand"];
/** Empty until the agent reports some. */
export type Usage = Partial<Schemas["ConversationUsage"]>;

/** A change in the list of sessions, as `/v1/events` sends it. */
export interface ListChange {
  session: string;
  kind: "created" | "status" | "pending" | "title" | "deleted";
  seq?: number;
  status?: SessionStatus;
  title?: string | null;
  pending?: number;
}
