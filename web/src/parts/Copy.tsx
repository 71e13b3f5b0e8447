// A command to be typed elsewhere, with a button that copies it.
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

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch (error) {
      tellProblem("Nothing was copied", error);
    }
  };
  return <IconButton icon={isCopied ? "check" : "copy"} label={isCopied ? "Copied" : label} onClick={() => void copy()} />;
}
