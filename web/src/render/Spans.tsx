// The parts within a line of Markdown: words, emphasis, code, links.
import type { Token, Tokens } from "marked";
import type { ReactNode } from "react";
import { unescapeEntities } from "./entities";
import { cutLine, safeHref, visible } from "./visible";

const DEEPEST = 24;

export function Spans({ tokens, depth = 0 }: { tokens: Token[] | undefined; depth?: number }): ReactNode {
  return tokens?.map((token, i) => <Span key={i} token={token} depth={depth} />);
}

function Span({ token, depth }: { token: Token; depth: number }): ReactNode {
  if (depth > DEEPEST) return visible(token.raw);
  const inside = "tokens" in token && token.tokens ? <Spans tokens={token.tokens} depth={depth + 1} /> : null;
  switch (token.type) {
    case "text":
      return inside ?? visible(unescapeEntities((token as Tokens.Text).text));
    case "escape":
      return visible((token as Tokens.Escape).text);
    case "strong":
      return <strong>{inside}</strong>;
    case "em":
      return <em>{inside}</em>;
    case "del":
      return <del>{inside}</del>;
    case "codespan":
      return <code>{visible((token as Tokens.Codespan).text)}</code>;
    case "br":
      return <br />;
    case "link":
      return <SafeLink href={(token as Tokens.Link).href}>{inside}</SafeLink>;
    case "image":
      return <Image token={token as Tokens.Image} />;
    default:
      return visible(token.raw); // raw HTML is text like any other
  }
}

/** A link that leads out, if it leads anywhere harmless; its words otherwise. */
export function SafeLink({ href, children }: { href: string; children: ReactNode }) {
  const safe = safeHref(href);
  if (safe === undefined) return <span title={cutLine(href, 300)}>{children}</span>;
  return (
    // The title shows where it leads, since the words may claim otherwise.
    <a href={safe} target="_blank" rel="noopener noreferrer" referrerPolicy="no-referrer" title={cutLine(safe, 300)}>
      {children}
    </a>
  );
}

/** Loading a picture would tell its host that and when it was looked at: it stays a link. */
function Image({ token }: { token: Tokens.Image }) {
  const words = `image: ${token.text || token.href.slice(0, 80)}`;
  return <SafeLink href={token.href}>{visible(words)}</SafeLink>;
}
