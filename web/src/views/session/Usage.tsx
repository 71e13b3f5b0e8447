// The usage of the session: context, tokens, cost, limits.
import type { Session } from "../../api/types";
import { count, money } from "../../parts/numbers";
import { duration } from "../../parts/Time";
import type { Conversation } from "../../session/items";
import { number, object } from "../../api/json";

export function UsageView({ conversation, session }: { conversation: Conversation; session: Session | undefined }) {
  const { used, size } = conversation.usage;
  const counted = object(session?.usage);
  const tokens = number(counted.tokens);
  const cost = costOf(conversation, session);
  const limits = limitWords(session);
  const share = used !== undefined && size ? Math.min(1, used / size) : undefined;
  return (
    <span className="usage">
      {share !== undefined && used !== undefined && size !== undefined && (
        <span className="context" title={`Context: ${count(used)} of ${count(size)} tokens`}>
          <meter min={0} max={1} low={0.7} high={0.9} optimum={0} value={share} aria-label={`Context ${Math.round(share * 100)} % full`} />
          {Math.round(share * 100)} %
        </span>
      )}
      {tokens !== undefined && tokens > 0 && <span title="Tokens so far">{count(tokens)} tokens</span>}
      {cost !== undefined && <span title="Cost so far">{cost}</span>}
      {limits && (
        <span className="badge" title={limits}>
          limited
        </span>
      )}
    </span>
  );
}

function costOf(conversation: Conversation, session: Session | undefined): string | undefined {
  const { cost, costBefore = 0 } = conversation.usage;
  // The agent counts from its own start; costs that were reported before that are added.
  if (cost) return money(cost.amount + costBefore, cost.currency);
  const counted = number(object(session?.usage).costUsd) ?? 0;
  return counted > 0 ? money(counted) : undefined;
}

function limitWords(session: Session | undefined): string | undefined {
  const limits = object(session?.limits);
  const words = [];
  const turns = number(limits.turns);
  const seconds = number(limits.runningSeconds);
  const silent = number(limits.inactiveSeconds);
  const tokens = number(limits.tokens);
  const costUsd = number(limits.costUsd);
  if (turns !== undefined) words.push(`${turns} turns`);
  if (seconds !== undefined) words.push(`${duration(seconds * 1000)} of work`);
  if (silent !== undefined) words.push(`${duration(silent * 1000)} of silence`);
  if (tokens !== undefined) words.push(`${count(tokens)} tokens`);
  if (costUsd !== undefined) words.push(money(costUsd));
  return words.length > 0 ? `The session pauses at ${words.join(", ")}` : undefined;
}
