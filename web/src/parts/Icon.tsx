// The page's icons, drawn on a grid of 16. Decoration only: whatever bears one has a label.

const SHAPES = {
  sessions: "M2.5 3.5h11v7h-6l-3 2.5v-2.5h-2z",
  agents: "M4 5.5h8a1 1 0 0 1 1 1v5a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1v-5a1 1 0 0 1 1-1zM8 5.5V3M6 8.5v1M10 8.5v1M1 8.5v2M15 8.5v2",
  approvals: "M8 1.8l5 1.7v4c0 3.2-2 5.4-5 6.7-3-1.3-5-3.5-5-6.7v-4zM5.8 7.8l1.6 1.7 2.9-3.2",
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5l3.2 3.2L13 5",
  chevron: "M6 4l4 4-4 4",
  down: "M4 6l4 4 4-4",
  stop: "M4.5 4.5h7v7h-7z",
  send: "M8 13V3.5M4 7.2L8 3.2l4 4",
  attach: "M10.5 4.5L6 9a1.4 1.4 0 0 0 2 2l5-5a2.8 2.8 0 0 0-4-4L4 7a4.2 4.2 0 0 0 6 6l3-3",
  folder: "M2 4.5h4l1.5 1.5H14v7H2z",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  edit: "M3 13l.6-2.8L11 2.8 13.2 5 5.8 12.4z",
  trash: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5M7 7v3.5M9 7v3.5",
  move: "M2.5 8h11M10 4.5L13.5 8 10 11.5",
  search: "M7 3a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM10 10l3.5 3.5",
  terminal: "M2.5 3.5h11v9h-11zM5 6.5l2 1.7-2 1.7M8.5 10.3H11",
  think: "M8 2.5a4 4 0 0 1 2.4 7.2c-.4.4-.6.8-.6 1.3H6.2c0-.5-.2-.9-.6-1.3A4 4 0 0 1 8 2.5zM6.5 13.3h3",
  fetch: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM2.5 8h11M8 2.5c3.4 3.4 3.4 7.6 0 11M8 2.5c-3.4 3.4-3.4 7.6 0 11",
  switch: "M3 11.5h10M3 11.5c5 0 5-7 10-7",
  other: "M8 2.5a1.8 1.8 0 0 1 1.8 1.8c0 .4-.1.7-.3 1h2.7v2.8a1.8 1.8 0 1 1 0 2.2v3H3.8V5.3h2.7a1.8 1.8 0 0 1 1.5-2.8z",
  plan: "M6.5 4h7M6.5 8h7M6.5 12h7M2.3 4l.9.9L4.8 3M2.3 8l.9.9L4.8 7M2.5 12h1.8",
  warning: "M8 2.5l6 10.5H2zM8 6.5V9.5M8 11.3v.2",
  info: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 7.3v3.5M8 5.2v.2",
  copy: "M5.5 5.5h7v7h-7zM3.5 10.5v-7h7",
  sun: "M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6zM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9",
  moon: "M12.8 9.8A5.5 5.5 0 0 1 6.2 3.2a5.5 5.5 0 1 0 6.6 6.6z",
  half: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 2.5v11M9.5 3v10M11 4v8",
  keys: "M1.8 4.5h12.4v7H1.8zM4 7h.2M6.5 7h.2M9 7h.2M11.5 7h.2M5 9.3h6",
  list: "M3 4.5h10M3 8h10M3 11.5h10",
  code: "M6 4.5L2.5 8 6 11.5M10 4.5L13.5 8 10 11.5",
  fork: "M4.5 3v10M4.5 9c0-3 7-1 7-4.5M11.5 4.5V3",
  download: "M8 2.5v7M5 7l3 3 3-3M3 13h10",
  refresh: "M12.8 6.5A5 5 0 1 0 13 9M13 3v3.5H9.5",
  more: "M3.5 8h.2M8 8h.2M12.5 8h.2",
  user: "M8 3a2.4 2.4 0 1 1 0 4.8A2.4 2.4 0 0 1 8 3zM3.5 13c.4-2.4 2.2-3.6 4.5-3.6s4.1 1.2 4.5 3.6",
  clock: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 5v3.2l2.2 1.3",
  question: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM6.4 6.6c0-2 3.2-2 3.2 0 0 1.3-1.6 1.2-1.6 2.5M8 11v.2",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  split: "M2.5 3.5h11v9h-11zM8 3.5v9",
  unified: "M2.5 3.5h11v9h-11zM5 6.5h6M5 9.5h6",
} as const;

export type IconName = keyof typeof SHAPES;

export function Icon({ name, size = 16, className }: { name: IconName; size?: number; className?: string }) {
  return (
    <svg
      className={className ? `icon ${className}` : "icon"}
      width={size}
      height={size}
      viewBox="0 0 16 16"
      aria-hidden="true"
      focusable="false"
    >
      <path d={SHAPES[name]} />
    </svg>
  );
}
