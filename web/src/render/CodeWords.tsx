// A line of text in which parts between backticks are code.
import type { ReactNode } from "react";
import { visible } from "./visible";

export function CodeWords({ text }: { text: string }): ReactNode {
  return text.split(/`([^`]+)`/).map((part, i) => (i % 2 === 1 ? <code key={i}>{visible(part)}</code> : visible(part)));
}
