// The account menu: this browser's role, the theme, logging out.
import { logOut } from "../api/login";
import { useMe } from "../api/me";
import { Menu, type MenuItem } from "./Menu";
import { useTheme, type Theme } from "./theme";
import { tellProblem } from "./toasts";

const ROLE = {
  observer: "Observer: may look, not touch",
  operator: "Operator: may prompt and answer",
  admin: "Admin: may do everything",
} as const;
const THEMES: Record<Theme, [Theme, string]> = {
  system: ["light", "as the system has it"],
  light: ["dark", "light"],
  dark: ["system", "dark"],
};

export function AccountMenu({ onKeys }: { onKeys: () => void }) {
  const me = useMe();
  const [theme, setTheme] = useTheme();
  const [next, name] = THEMES[theme];
  // Reloaded, so that nothing that was read stays in this tab.
  const leave = () =>
    logOut().then(
      () => location.replace("/login"),
      (error: unknown) => tellProblem("You are still logged in", error),
    );
  const items: MenuItem[] = [
    {
      label: "This browser",
      detail: me.state === "loggedIn" ? ROLE[me.role] : "The role of this browser is not known yet",
      icon: "user",
      isDisabled: true,
      run: () => undefined,
    },
    {
      label: "Theme",
      detail: `Now: ${name}`,
      icon: theme === "dark" ? "moon" : theme === "light" ? "sun" : "half",
      run: () => setTheme(next),
    },
    { label: "Keys", detail: "Also: ?", icon: "keys", run: onKeys },
    { label: "Log out", icon: "close", run: () => void leave() },
  ];
  return <Menu label="Account" icon="user" items={items} />;
}
