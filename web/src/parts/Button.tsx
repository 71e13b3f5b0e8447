// Buttons. One with only an icon needs a label, which is also its tooltip.
import type { ButtonHTMLAttributes, Ref } from "react";
import { Icon, type IconName } from "./Icon";

interface Looks {
  icon?: IconName;
  look?: "plain" | "primary" | "danger" | "quiet";
  isBusy?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({
  icon,
  look = "plain",
  isBusy,
  children,
  className,
  disabled,
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & Looks) {
  return (
    <button
      type="button"
      className={`button ${look} ${className ?? ""}`}
      disabled={disabled || isBusy}
      aria-busy={isBusy || undefined}
      {...rest}
    >
      {isBusy ? <span className="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

export function IconButton({
  icon,
  label,
  look = "quiet",
  isBusy,
  className,
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & Looks & { icon: IconName; label: string }) {
  return (
    <button
      type="button"
      className={`button icon-only ${look} ${className ?? ""}`}
      aria-label={label}
      title={label}
      aria-busy={isBusy || undefined}
      {...rest}
    >
      {isBusy ? <span className="spinner" aria-hidden="true" /> : <Icon name={icon} />}
    </button>
  );
}
