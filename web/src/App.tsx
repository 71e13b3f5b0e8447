// The frame around every view: navigation, the state of the connection, the number of open
// questions.
import { useEffect, useState } from "react";
import type { Connection } from "./api/connection";
import { startLive, stopLive, useLive } from "./api/live";
import { hasCode, takeTarget } from "./api/login";
import { askWhoIAm, forgetMe, useMe } from "./api/me";
import { onUnauthorized } from "./api/request";
import { retryAll, usePageConnection } from "./api/pageConnection";
import { useSessionChanges } from "./list/sessions";
import { AccountMenu } from "./parts/AccountMenu";
import { Boundary } from "./parts/Boundary";
import { ConnectionBadge } from "./parts/ConnectionBadge";
import { ConnectionBanner } from "./parts/ConnectionBanner";
import { IconButton } from "./parts/Button";
import { Icon, type IconName } from "./parts/Icon";
import { KeysDialog } from "./parts/KeysDialog";
import { listenToKeys, useKeys } from "./parts/keys";
import { useTheme, type Theme } from "./parts/theme";
import { Toasts } from "./parts/Toasts";
import { Link, navigate, useRoute, type Route } from "./router";
import { AgentsView } from "./views/Agents";
import { ApprovalsView } from "./views/Approvals";
import { LoginView } from "./views/Login";
import { NotFoundView } from "./views/NotFound";
import { SessionView } from "./views/Session";
import { SessionsView } from "./views/Sessions";

export function App() {
  const route = useRoute();
  const me = useMe();
  const { connection } = useLive();
  const page = useShownConnection();
  const [areKeysShown, setKeysShown] = useState(false);
  // A login link works on every path: its code is in the fragment.
  const [cameWithCode] = useState(hasCode);
  const isLogin = cameWithCode || route.view === "login" || me.state === "loggedOut";
  const isIn = !isLogin && me.state !== "loading";

  useEffect(() => {
    if (!cameWithCode) void askWhoIAm();
    return onUnauthorized(forgetMe);
  }, [cameWithCode]);
  useEffect(() => {
    // A document of its own: this one's address, which the browser remembers, had the code.
    if ((cameWithCode || route.view === "login") && me.state === "loggedIn") location.replace(takeTarget());
  }, [cameWithCode, route.view, me.state]);
  useEffect(() => {
    if (isLogin) return;
    // A login link that is opened in this tab changes only the fragment.
    const land = () => hasCode() && location.reload();
    addEventListener("hashchange", land);
    return () => removeEventListener("hashchange", land);
  }, [isLogin]);
  useEffect(listenToKeys, []);
  useEffect(() => {
    if (!isIn) return;
    startLive();
    return stopLive;
  }, [isIn]);
  useEffect(() => {
    // A daemon that was away when the page was opened has answered, or one that was there
    // does not know this browser any more.
    if (connection.phase === "live" && me.state === "unknown") void askWhoIAm();
    if (connection.phase === "ended") void askWhoIAm();
  }, [connection.phase, me.state]);
  useSessionChanges();
  useKeys([
    { keys: "g s", label: "Go to sessions", run: () => navigate("/") },
    { keys: "g a", label: "Go to agents", run: () => navigate("/agents") },
    { keys: "g p", label: "Go to approvals", run: () => navigate("/approvals") },
    { keys: "?", label: "Show these keys", run: () => setKeysShown(true) },
  ]);

  if (isLogin) return <LoginView />;
  // A browser that is not logged in should not see the frame flash by.
  if (!isIn) return <p className="sr-only">Asking the daemon …</p>;
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <Rail route={route} onKeys={() => setKeysShown(true)} />
      <div className="stage">
        <ConnectionBanner connection={page} onRetry={retryAll} />
        <main id="main" tabIndex={-1}>
          <Boundary key={JSON.stringify(route)} name="This view">
            <View route={route} />
          </Boundary>
        </main>
      </div>
      {areKeysShown && <KeysDialog onClose={() => setKeysShown(false)} />}
      <Toasts />
    </div>
  );
}

/** The state of all connections of the page; a login that has ended is shown before anything else. */
function useShownConnection(): Connection {
  const { connection } = useLive();
  const page = usePageConnection();
  return connection.phase === "ended" ? connection : (page ?? connection);
}

function View({ route }: { route: Route }) {
  switch (route.view) {
    case "sessions":
      return <SessionsView />;
    case "agents":
      return <AgentsView />;
    case "approvals":
      return <ApprovalsView />;
    case "session":
      // Another session is another conversation: nothing of the one before may stay.
      return <SessionView key={route.id} id={route.id} />;
    default:
      return <NotFoundView />;
  }
}

function Rail({ route, onKeys }: { route: Route; onKeys: () => void }) {
  const { questions } = useLive();
  const page = useShownConnection();
  return (
    <nav className="rail" aria-label="Main">
      <Link href="/" className="brand" aria-label="Switchyard, sessions">
        <Icon name="switch" size={20} />
        <span>Switchyard</span>
      </Link>
      <Place href="/" icon="sessions" label="Sessions" isHere={route.view === "sessions" || route.view === "session"} />
      <Place href="/agents" icon="agents" label="Agents" isHere={route.view === "agents"} />
      <Place href="/approvals" icon="approvals" label="Approvals" isHere={route.view === "approvals"} count={questions.length} />
      <div className="rail-end">
        <ConnectionBadge connection={page} />
        <div className="rail-tools">
          <AccountMenu onKeys={onKeys} />
          <ThemeSwitch />
          <IconButton icon="keys" label="Keys (?)" onClick={onKeys} className="wide-only" />
        </div>
      </div>
    </nav>
  );
}

function Place({ href, icon, label, isHere, count = 0 }: { href: string; icon: IconName; label: string; isHere: boolean; count?: number }) {
  return (
    <Link href={href} className="place" aria-current={isHere ? "page" : undefined}>
      <Icon name={icon} />
      <span>{label}</span>
      {count > 0 && (
        <span className="count">
          {count}
          <span className="sr-only"> waiting</span>
        </span>
      )}
    </Link>
  );
}

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const THEME_ICON: Record<Theme, IconName> = { system: "half", light: "sun", dark: "moon" };

function ThemeSwitch() {
  const [theme, setTheme] = useTheme();
  return <IconButton className="wide-only" icon={THEME_ICON[theme]} label={`Theme: ${theme}`} onClick={() => setTheme(NEXT[theme])} />;
}
