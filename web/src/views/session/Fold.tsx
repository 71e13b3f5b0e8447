// A section that can be folded, with a summary line.
import { useId, type ReactNode } from "react";
import { Icon, type IconName } from "../../parts/Icon";
import { useFold } from "./context";

interface Props {
  name: string;
  icon?: IconName;
  summary: ReactNode;
  isOpenAtFirst?: boolean;
  className?: string;
  children: () => ReactNode;
}

export function Fold({ name, icon, summary, isOpenAtFirst = false, className, children }: Props) {
  const [isOpen, toggle] = useFold(name, isOpenAtFirst);
  const id = useId();
  return (
    <div className={`fold ${className ?? ""}`}>
      <button type="button" className="fold-head" aria-expanded={isOpen} aria-controls={id} onClick={toggle}>
        <Icon name="chevron" size={12} className={isOpen ? "turned" : ""} />
        {icon && <Icon name={icon} size={14} />}
        {summary}
      </button>
      {isOpen && (
        <div id={id} className="fold-body">
          {children()}
        </div>
      )}
    </div>
  );
}
