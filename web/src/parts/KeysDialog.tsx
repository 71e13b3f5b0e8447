// The list of keys that `?` shows.
import { Dialog } from "./Dialog";
import { useBindings } from "./keys";

const isMac = navigator.platform.startsWith("Mac");

export function KeysDialog({ onClose }: { onClose: () => void }) {
  const bindings = useBindings();
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="keys">
        {bindings.map((binding) => (
          <div key={`${binding.keys} ${binding.label}`}>
            <dt>
              <Keys keys={binding.keys} />
            </dt>
            <dd>{binding.label}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

export function Keys({ keys }: { keys: string }) {
  return keys.split(" ").map((key, i) => (
    <kbd key={i}>
      {key
        .replace("mod+", isMac ? "⌘" : "Ctrl+")
        .replace("Escape", "Esc")
        .replace("ArrowUp", "↑")
        .replace("ArrowDown", "↓")}
    </kbd>
  ));
}
