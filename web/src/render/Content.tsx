// A content block of ACP: text, a picture, a file, a link.
import { useState } from "react";
import { object, text, type Json } from "../api/json";
import { bytes } from "../parts/numbers";
import { Icon } from "../parts/Icon";
import { Code } from "./Code";
import { languageOf } from "./highlight";
import { LongMarkdown } from "./LongMarkdown";
import { SafeLink } from "./Spans";
import { cutLine } from "./visible";

// Pictures that are nothing but pictures; an SVG is a document.
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export function Content({ block }: { block: Json }) {
  switch (block.type) {
    case "text":
      return <LongMarkdown text={text(block.text) ?? ""} />;
    case "image":
      return <Picture block={block} />;
    case "resource":
      return <Resource resource={object(block.resource)} />;
    case "resource_link":
      return <FileChip name={text(block.title) ?? text(block.name) ?? text(block.uri) ?? "file"} uri={text(block.uri)} size={block.size} />;
    default:
      return <FileChip name={`${text(block.type) ?? "unknown"} ${text(block.mimeType) ?? ""}`} />;
  }
}

function Picture({ block }: { block: Json }) {
  const mimeType = text(block.mimeType) ?? "";
  const data = text(block.data);
  if (!data || !PICTURES.includes(mimeType) || !/^[A-Za-z0-9+/=\s]*$/.test(data)) {
    return <FileChip name={`picture ${mimeType}`} uri={text(block.uri)} />;
  }
  return <img className="picture" src={`data:${mimeType};base64,${data}`} alt="Picture in the conversation" />;
}

function Resource({ resource }: { resource: Json }) {
  const [isOpen, setOpen] = useState(false);
  const uri = text(resource.uri) ?? "resource";
  const name = cutLine(uri.slice(uri.lastIndexOf("/") + 1) || uri, 200);
  const words = text(resource.text);
  if (words === undefined) return <FileChip name={name} uri={uri} />;
  return (
    <details className="resource" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="file" /> {name} <span className="faint">{bytes(words.length)}</span>
      </summary>
      {isOpen && <Code text={words} language={languageOf(uri)} />}
    </details>
  );
}

export function FileChip({ name, uri, size }: { name: string; uri?: string; size?: unknown }) {
  return (
    <span className="chip" title={uri === undefined ? undefined : cutLine(uri, 300)}>
      <Icon name="file" />
      {uri === undefined ? cutLine(name, 200) : <SafeLink href={uri}>{cutLine(name, 200)}</SafeLink>}
      {typeof size === "number" && <span className="faint">{bytes(size)}</span>}
    </span>
  );
}
