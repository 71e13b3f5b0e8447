// The page's paths, on the browser's own history.
import { useSyncExternalStore, type AnchorHTMLAttributes, type MouseEvent } from "react";

export type Route =
  | { view: "sessions" }
  | { view: "agents" }
  | { view: "approvals" }
  | { view: "login" }
  | { view: "session"; id: string }
  | { view: "notFound" };

export function routeOf(pathname: string): Route {
  const [first = "", second, ...more] = pathname.split("/").filter((part) => part !== "");
  if (more.length > 0) return { view: "notFound" };
  if (first === "sessions" && second !== undefined) {
    try {
      return { view: "session", id: decodeURIComponent(second) };
    } catch {
      return { view: "notFound" };
    }
  }
  if (second !== undefined) return { view: "notFound" };
  switch (first) {
    case "":
    case "sessions":
      return { view: "sessions" };
    case "agents":
    case "approvals":
    case "login":
      return { view: first };
    default:
      return { view: "notFound" };
  }
}

export function pathOf(route: Route): string {
  switch (route.view) {
    case "session":
      return `/sessions/${encodeURIComponent(route.id)}`;
    case "sessions":
    case "notFound":
      return "/";
    default:
      return `/${route.view}`;
  }
}

const readers = new Set<() => void>();

export function navigate(path: string, how: "push" | "replace" = "push"): void {
  if (path === location.pathname + location.search + location.hash) return;
  if (how === "push") history.pushState(null, "", path);
  else history.replaceState(null, "", path);
  for (const reader of readers) reader();
}

/** The path shown, as it changes. */
export function usePathname(): string {
  return useSyncExternalStore(subscribe, () => location.pathname);
}

/** The part of the address after the path: `?q=…`. */
export function useSearch(): string {
  return useSyncExternalStore(subscribe, () => location.search);
}

export function useRoute(): Route {
  return routeOf(usePathname());
}

/** A link within the page. Opens elsewhere when asked to, as every link does. */
export function Link({ href, onClick, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(href);
  };
  return <a href={href} onClick={follow} {...rest} />;
}

function subscribe(reader: () => void): () => void {
  readers.add(reader);
  addEventListener("popstate", reader);
  return () => {
    readers.delete(reader);
    removeEventListener("popstate", reader);
  };
}
