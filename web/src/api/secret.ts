// The half of a login that is this page's own.
//
// The browser sends the login's cookie to every port of the daemon's host, so the cookie alone
// opens nothing. The secret is kept where only pages of this very origin can read it, and is sent
// to nobody: `pass` proves with it that we have it.

const KEY = "switchyard.page";

/** The secret, if this browser is logged in. */
export function pageSecret(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    // A browser that stores nothing for pages cannot be logged in.
    return null;
  }
}

export function keepPageSecret(secret: string): void {
  localStorage.setItem(KEY, secret);
}

export function forgetPageSecret(): void {
  localStorage.removeItem(KEY);
}
