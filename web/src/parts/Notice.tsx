// A notice in the page: an error with its remedy, a warning, a fact.
import type { ReactNode } from "react";
import type { Problem } from "../api/problem";
import { CodeWords } from "../render/CodeWords";
import { Icon } from "./Icon";

export function Notice({ tone = "info", children }: { tone?: "info" | "warning" | "error"; children: ReactNode }) {
  return (
    <div className={`notice ${tone}`} role={tone === "error" ? "alert" : "status"}>
      <Icon name={tone === "info" ? "info" : "warning"} />
      <div>{children}</div>
    </div>
  );
}

export function ProblemNotice({ problem }: { problem: Problem }) {
  return (
    <Notice tone="error">
      <p>
        <CodeWords text={problem.message} />
      </p>
      {problem.detail && problem.detail !== problem.message && (
        <p>
          <CodeWords text={problem.detail} />
        </p>
      )}
      {problem.remedy && (
        <p className="muted">
          <CodeWords text={problem.remedy} />
        </p>
      )}
    </Notice>
  );
}
