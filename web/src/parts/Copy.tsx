// A button that copies a text, and a command to be typed elsewhere with one.
import { useEffect, useState } from "react";
import { IconButton } from "./Button";
import { tellProblem } from "./toasts";

export function CopyableCommand({ text }: { text: string }) {
  return (
    <span className="copyable">
      <code>{text}</code>
      <CopyButton text={text} />
    </span>
  );
}

// Browsers have a clipboard only for pages over TLS, and for those of this very machine.
const NO_CLIPBOARD = "this browser gives its clipboard only to pages over HTTPS or on this machine";

interface Props {
  /** A function where making the text takes work. */
  text: string | (() => string);
  label?: string;
  className?: string;
}

export function CopyButton({ text, label = "Copy", className }: Props) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    try {
      if (!navigator.clipboard) throw new Error(NO_CLIPBOARD);
      await navigator.clipboard.writeText(typeof text === "string" ? text : text());
      setCopied(true);
    } catch (error) {
      tellProblem("Nothing was copied", error);
    }
  };
  return (
    <IconButton icon={isCopied ? "check" : "copy"} label={isCopied ? "Copied" : label} className={className} onClick={() => void copy()} />
  );
}
