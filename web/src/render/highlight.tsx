// Code as coloured spans. Without the languages, which are loaded when first needed, or with
// one that nobody knows, it is plain text.
import type { ElementContent, Root, RootContent } from "hast";
import { useEffect, useMemo, useState, type ReactNode } from "react";
import { visible } from "./visible";

type Lowlight = (typeof import("./languages"))["lowlight"];

let loaded: Lowlight | undefined;
let loading: Promise<void> | undefined;

// Colouring more than this takes longer than a frame.
const LONGEST = 60_000;
const LONGEST_LIVE = 6_000;

export function useHighlighted(text: string, language: string | undefined, isLive: boolean): ReactNode {
  const wanted = language !== undefined && text.length <= (isLive ? LONGEST_LIVE : LONGEST);
  const [, setLoaded] = useState(loaded !== undefined);
  useEffect(() => {
    if (!wanted || loaded) return;
    loading ??= import("./languages").then((module) => {
      loaded = module.lowlight;
    });
    let isHere = true;
    // Without it code is plain, which is no reason to trouble anybody.
    loading.then(() => isHere && setLoaded(true)).catch(() => (loading = undefined));
    return () => void (isHere = false);
  }, [wanted]);
  const lowlight = loaded;
  return useMemo(() => {
    if (!wanted || !lowlight || language === undefined || !lowlight.registered(language)) return visible(text);
    try {
      return drawn(lowlight.highlight(language, text));
    } catch {
      return visible(text);
    }
  }, [text, language, wanted, lowlight]);
}

function drawn(root: Root): ReactNode {
  return root.children.map((node, i) => drawNode(node, i));
}

function drawNode(node: RootContent | ElementContent, key: number): ReactNode {
  if (node.type === "text") return visible(node.value);
  if (node.type !== "element") return null;
  const names = node.properties.className;
  return (
    <span key={key} className={Array.isArray(names) ? names.join(" ") : undefined}>
      {node.children.map((child, i) => drawNode(child, i))}
    </span>
  );
}

const BY_ENDING: Record<string, string> = {
  rs: "rust", ts: "typescript", tsx: "typescript", mts: "typescript", js: "javascript", jsx: "javascript", mjs: "javascript",
  cjs: "javascript", py: "python", rb: "ruby", go: "go", java: "java", kt: "kotlin", c: "c", h: "c", cc: "cpp", cpp: "cpp",
  hpp: "cpp", cs: "csharp", css: "css", html: "xml", xml: "xml", svg: "xml", vue: "xml", md: "markdown", json: "json",
  yaml: "yaml", yml: "yaml", toml: "ini", ini: "ini", sh: "bash", bash: "bash", zsh: "bash", sql: "sql", php: "php",
  swift: "swift", lua: "lua", diff: "diff", patch: "diff",
};

/** The language of a file, by its name. */
export function languageOf(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  if (name === "dockerfile") return "dockerfile";
  if (name === "makefile") return "makefile";
  return BY_ENDING[name.slice(name.lastIndexOf(".") + 1)];
}
