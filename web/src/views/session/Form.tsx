// A form that the agent wants filled in: ACP's elicitation, fields from its schema.
import { useId, useState } from "react";
import { Button } from "../../parts/Button";
import { safeHref, visible } from "../../render/visible";
import { fieldsOf, valueOf, type Field } from "../../session/form";
import { object, text, type Json } from "../../api/json";

interface Props {
  request: Json;
  isBusy: boolean;
  /** Whether an answer counts already. */
  isReady: boolean;
  onAnswer: (response: Json) => void;
}

export function Form({ request, isBusy, isReady, onAnswer }: Props) {
  const fields = fieldsOf(object(request.requestedSchema));
  const [values, setValues] = useState<Record<string, unknown>>(() =>
    Object.fromEntries(fields.map((field) => [field.name, field.initial])),
  );
  const href = safeHref(text(request.url) ?? "");
  const set = (name: string, value: unknown) => setValues((all) => ({ ...all, [name]: value }));
  return (
    // Its own submit handler: nothing is ever sent anywhere by the browser itself.
    <form
      className="elicitation"
      onSubmit={(event) => {
        event.preventDefault();
        const content = Object.fromEntries(
          fields.flatMap((field) => {
            const value = valueOf(field, values[field.name]);
            return value === undefined ? [] : [[field.name, value]];
          }),
        );
        onAnswer({ action: "accept", content });
      }}
    >
      {href !== undefined && (
        <p>
          The agent asks you to open{" "}
          <a href={href} target="_blank" rel="noopener noreferrer">
            {visible(href)}
          </a>
        </p>
      )}
      {fields.map((field) => (
        <FieldView key={field.name} field={field} value={values[field.name]} onChange={(value) => set(field.name, value)} />
      ))}
      <div className="answers">
        <Button type="submit" look="primary" isBusy={isBusy} aria-disabled={!isReady || undefined}>
          Send
        </Button>
        <Button disabled={isBusy} look="danger" aria-disabled={!isReady || undefined} onClick={() => onAnswer({ action: "decline" })}>
          Decline
        </Button>
      </div>
    </form>
  );
}

function FieldView({ field, value, onChange }: { field: Field; value: unknown; onChange: (value: unknown) => void }) {
  const id = useId();
  const hint = field.description && (
    <p id={`${id}-hint`} className="faint small">
      {visible(field.description)}
    </p>
  );
  const shared = { id, required: field.isRequired, "aria-describedby": field.description ? `${id}-hint` : undefined };
  if (field.type === "boolean") {
    return (
      <div className="field">
        <label className="check">
          <input
            type="checkbox"
            {...shared}
            required={false}
            checked={value === true}
            onChange={(event) => onChange(event.target.checked)}
          />
          {visible(field.title)}
        </label>
        {hint}
      </div>
    );
  }
  return (
    <div className="field">
      <label htmlFor={id}>
        {visible(field.title)}
        {field.isRequired && <span aria-hidden="true"> *</span>}
      </label>
      {field.choices ? (
        <select
          {...shared}
          className="input"
          multiple={field.type === "array"}
          value={field.type === "array" ? (value as string[]) : wordsOf(value)}
          onChange={(event) =>
            onChange(field.type === "array" ? [...event.target.selectedOptions].map((option) => option.value) : event.target.value)
          }
        >
          {field.type !== "array" && <option value="">{field.isRequired ? "Choose …" : "None"}</option>}
          {field.choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {visible(choice.title)}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...shared}
          className="input"
          type={field.inputType}
          minLength={field.minLength}
          maxLength={field.maxLength}
          min={field.min}
          max={field.max}
          step={field.type === "integer" ? 1 : field.type === "number" ? "any" : undefined}
          value={wordsOf(value)}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      {hint}
    </div>
  );
}

/** The text in a field: an agent may have given any value to begin with, and that is what would be sent. */
function wordsOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}
