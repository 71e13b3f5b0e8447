// A field for one of several values: chosen where they are known, typed where they are not.
import type { Choice } from "../agents/offers";
import { cutLine } from "../render/visible";

interface Props {
  label: string;
  name: string;
  value: string;
  choices: Choice[];
  /** The default, if it is known. */
  standard?: string;
  isDisabled: boolean;
  onChange: (value: string) => void;
}

export function ChoiceField({ label, name, value, choices, standard, isDisabled, onChange }: Props) {
  return (
    <label className="field">
      <span>{label}</span>
      {choices.length > 0 ? (
        <select className="input" name={name} value={value} disabled={isDisabled} onChange={(event) => onChange(event.target.value)}>
          <option value="">{standard ? `Default (${cutLine(standard, 80)})` : "Default"}</option>
          {choices.map((choice) => (
            <option key={choice.id} value={choice.id}>
              {cutLine(choice.name, 120)}
            </option>
          ))}
        </select>
      ) : (
        <input
          className="input"
          name={name}
          value={value}
          disabled={isDisabled}
          placeholder="Default"
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </label>
  );
}
