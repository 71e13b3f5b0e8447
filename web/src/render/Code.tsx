// A block of code with its language and a button that copies it.
import { CopyButton } from "../parts/Copy";
import { Cut } from "./Cut";
import { useHighlighted } from "./highlight";
import { visible } from "./visible";

interface Props {
  text: string;
  language?: string;
  isLive?: boolean;
}

export function Code({ text, language, isLive = false }: Props) {
  // Only the first word is the language; the rest is for other programs.
  const name =
    language
      ?.trim()
      .split(/\s+/)[0]
      ?.toLowerCase()
      .replace(/[^a-z0-9+#_.-]/g, "") || undefined;
  return (
    <div className="code">
      <div className="code-head">
        <span>{name ?? "text"}</span>
        <CopyButton text={text} className="small-button" />
      </div>
      <Cut text={text}>{(part) => <Coloured text={part} language={name} isLive={isLive} />}</Cut>
    </div>
  );
}

function Coloured({ text, language, isLive }: { text: string; language: string | undefined; isLive: boolean }) {
  const drawn = useHighlighted(text, language, isLive);
  return (
    <pre tabIndex={0}>
      <code>{drawn ?? visible(text)}</code>
    </pre>
  );
}
