// Parts that a tool call and the question about it have in common.
import { useContext } from "react";
import { Code } from "../../render/Code";
import { Cut } from "../../render/Cut";
import { Diff } from "../../render/Diff";
import { Limited } from "../../render/Limited";
import { cutLine, visible } from "../../render/visible";
import { object, text, type Json } from "../../api/json";
import { SessionContext, shortPath } from "./context";

const SHOWN_PLACES = 20;
const SHOWN_DIFFS = 10;
const PATH_CHARS = 300;

export function CommandBlock({ command }: { command: string }) {
  return (
    <Cut text={command}>
      {(part) => (
        <pre className="command" tabIndex={0} role="group" aria-label="Command">
          <code>{visible(part)}</code>
        </pre>
      )}
    </Cut>
  );
}

export function Places({ places }: { places: readonly { path: string; line?: number }[] }) {
  const { cwd } = useContext(SessionContext);
  if (places.length === 0) return null;
  return (
    <Limited items={places} shown={SHOWN_PLACES} noun="places">
      {(some) => (
        <ul className="locations" aria-label="Places">
          {some.map((place, i) => (
            <li key={i} className="mono" title={cutLine(place.path, PATH_CHARS)}>
              {cutLine(shortPath(place.path, cwd), PATH_CHARS)}
              {place.line !== undefined && `:${place.line}`}
            </li>
          ))}
        </ul>
      )}
    </Limited>
  );
}

/** Changed files; all that one card shows share the time that one may take. */
export function Diffs({ parts }: { parts: readonly Json[] }) {
  const { cwd } = useContext(SessionContext);
  if (parts.length === 0) return null;
  return (
    <Limited items={parts} shown={SHOWN_DIFFS} noun="files">
      {(some) =>
        some.map((part, i) => {
          const path = shortPath(text(part.path) ?? "file", cwd).slice(0, 2 * PATH_CHARS);
          const patch = text(object(part.patch).text);
          if (patch !== undefined) return <Patch key={i} path={path} patch={patch} />;
          return <Diff key={i} path={path} before={text(part.oldText)} after={text(part.newText) ?? ""} share={some.length} />;
        })
      }
    </Limited>
  );
}

/** A patch that the agent has made itself, as it came. */
function Patch({ path, patch }: { path: string; patch: string }) {
  return (
    <figure aria-label={`Changes of ${cutLine(path, PATH_CHARS)}`}>
      <figcaption className="mono">{cutLine(path, 2 * PATH_CHARS)}</figcaption>
      <Code text={patch} language="diff" />
    </figure>
  );
}
