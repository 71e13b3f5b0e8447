// The login: the daemon's link has a code in its fragment, which browsers send to nobody; it is
// taken out of the address and traded for a cookie.
import "../style/login.css";
import { useCallback, useEffect, useRef, useState, type SubmitEvent } from "react";
import { codeIn, followPastedLink, logIn, rememberTarget } from "../api/login";
import { askWhoIAm } from "../api/me";
import { asProblem, type Problem } from "../api/problem";
import { Button } from "../parts/Button";
import { CopyableCommand } from "../parts/Copy";
import { Icon } from "../parts/Icon";
import { Notice } from "../parts/Notice";
import { sentenceOf } from "../parts/toasts";
import { CodeWords } from "../render/CodeWords";

export function LoginView() {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const [text, setText] = useState("");
  const field = useRef<HTMLInputElement>(null);

  const tryCode = useCallback(async (code: string, fragment?: string) => {
    setBusy(true);
    setProblem(undefined);
    try {
      await logIn(code, fragment);
    } catch (error) {
      setProblem(asProblem(error));
      setText("");
      field.current?.focus();
      // A link that was used before may have been used here.
      await askWhoIAm();
    } finally {
      setBusy(false);
    }
  }, []);
  useEffect(() => {
    document.title = "Log in · Switchyard";
    rememberTarget(location.pathname + location.search);
    // A link that is opened while this page is open changes only the fragment.
    const land = () => {
      const { hash } = location;
      const code = takeCode();
      if (code) void tryCode(code, hash);
    };
    land();
    addEventListener("hashchange", land);
    return () => removeEventListener("hashchange", land);
  }, [tryCode]);

  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (followPastedLink(text)) return;
    const code = codeIn(text);
    if (code) void tryCode(code);
    else field.current?.focus();
  };

  return (
    <main className="login" data-testid="login">
      <div className="login-card">
        <p className="brand">
          <Icon name="switch" size={22} />
          <span>Switchyard</span>
        </p>
        <h1>{isBusy ? "Logging in …" : "Log in with a link"}</h1>
        {problem && <LoginProblem problem={problem} />}
        <ol>
          <li>
            On the machine where the daemon runs, type
            <CopyableCommand text="switchyard token login" />
          </li>
          <li>
            Open the link that it prints in this browser. It works once, within ten minutes.
            <br />
            <span className="muted small">
              <code>switchyard serve</code> prints one too when it starts. On your own machine a login ends when the daemon was away and no
              tab of it was open.
            </span>
          </li>
        </ol>
        <form onSubmit={submit}>
          <label className="field">
            <span>Or paste the link or its code here</span>
            <input
              ref={field}
              className="input mono"
              name="code"
              value={text}
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              onChange={(event) => setText(event.target.value)}
            />
          </label>
          <Button type="submit" look="primary" isBusy={isBusy}>
            Log in
          </Button>
        </form>
      </div>
    </main>
  );
}

function LoginProblem({ problem }: { problem: Problem }) {
  const isWrong = problem.status === 401;
  return (
    <Notice tone="error">
      <p>{isWrong ? "This link is wrong, was used before, or is older than ten minutes." : sentenceOf(problem)}</p>
      <p className="muted">
        <CodeWords text={isWrong ? "A new one comes from the command below." : (problem.remedy ?? "")} />
      </p>
    </Notice>
  );
}

/** The code behind the `#`; it is left neither in the address bar nor in the history. */
function takeCode(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return undefined;
  history.replaceState(null, "", location.pathname);
  return code;
}
