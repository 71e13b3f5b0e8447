// One session in the list.
import { memo } from "react";
import type { Session } from "../api/types";
import { titleOf, useSessionActions } from "../list/actions";
import { usageOf } from "../list/usage";
import { failureOf, shownStatusOf } from "../list/query";
import { Menu } from "../parts/Menu";
import { StatusBadge } from "../parts/Status";
import { count, money } from "../parts/numbers";
import { Ago } from "../parts/Time";
import { cutLine } from "../render/visible";
import { Link, pathOf } from "../router";

interface Props {
  session: Session;
  pending: number;
  isChosen: boolean;
}

export const SessionRow = memo(function SessionRow({ session, pending, isChosen }: Props) {
  const status = shownStatusOf(session);
  const failure = failureOf(session);
  const { items, dialog } = useSessionActions(session);
  const usage = usageOf(session);
  return (
    <div role="listitem" className={isChosen ? "session-row chosen" : "session-row"} data-session={session.id} data-status={status}>
      <div className="session-row-main">
        <Link
          href={pathOf({ view: "session", id: session.id })}
          className={session.title ? "session-row-title" : "session-row-title untitled"}
        >
          {titleOf(session)}
        </Link>
        <div className="session-row-sub">
          <span className="session-row-agent">{session.agent}</span>
          <span className="session-row-cwd mono" title={cutLine(session.cwd, 600)}>
            <bdi>{cutLine(session.cwd, 600)}</bdi>
          </span>
          {failure?.message && (
            <span className="session-row-failure" title={failure.remedy ? cutLine(failure.remedy, 600) : undefined}>
              {cutLine(failure.message, 300)}
            </span>
          )}
        </div>
      </div>
      <StatusBadge status={status} pending={pending} />
      <span className="session-row-cost" title={usage.tokens ? `${count(usage.tokens)} tokens in ${usage.turns ?? 0} turns` : undefined}>
        {usage.costUsd !== undefined ? money(usage.costUsd) : usage.tokens !== undefined ? `${count(usage.tokens)} tok` : ""}
      </span>
      <span className="session-row-time">{status === "running" ? "now" : <Ago time={session.updated} />}</span>
      <Menu label={`Actions of ${titleOf(session)}`} items={items} />
      {dialog}
    </div>
  );
});
