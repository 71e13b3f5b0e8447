// The fields of a form, from the flat JSON schema that ACP allows for it.
import { list, number, object, text, type Json } from "../api/json";

export interface Field {
  name: string;
  title: string;
  description?: string;
  type: "string" | "number" | "integer" | "boolean" | "array";
  isRequired: boolean;
  choices?: { value: string; title: string }[];
  inputType: "text" | "email" | "url" | "date" | "datetime-local" | "number";
  minLength?: number;
  maxLength?: number;
  min?: number;
  max?: number;
  initial: unknown;
}

const INPUTS: Record<string, Field["inputType"]> = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };
const TYPES: readonly string[] = ["string", "number", "integer", "boolean", "array"];

export function fieldsOf(schema: Json): Field[] {
  const required = list(schema.required);
  return Object.entries(object(schema.properties)).map(([name, raw]) => {
    const property = object(raw);
    const said = text(property.type) ?? "string";
    const type = (TYPES.includes(said) ? said : "string") as Field["type"];
    return {
      name,
      title: text(property.title) ?? name,
      description: text(property.description),
      type,
      isRequired: required.includes(name),
      choices: choicesOf(type === "array" ? object(property.items) : property),
      inputType: type === "number" || type === "integer" ? "number" : (INPUTS[text(property.format) ?? ""] ?? "text"),
      minLength: number(property.minLength),
      maxLength: number(property.maxLength),
      min: number(property.minimum),
      max: number(property.maximum),
      initial: property.default ?? (type === "boolean" ? false : type === "array" ? [] : ""),
    };
  });
}

/** The value to send; nothing for a field that was left empty. */
export function valueOf(field: Field, value: unknown): unknown {
  if (field.type === "boolean") return value === true;
  if (field.type === "array") return Array.isArray(value) && (value.length > 0 || field.isRequired) ? value : undefined;
  if (value === "" || value === undefined || value === null) return undefined;
  if (field.type === "number" || field.type === "integer") {
    const n = Number(value);
    return Number.isFinite(n) ? n : undefined;
  }
  if (field.inputType === "datetime-local" && typeof value === "string") {
    const time = new Date(value);
    return Number.isNaN(time.getTime()) ? value : time.toISOString();
  }
  return value;
}

function choicesOf(schema: Json): Field["choices"] {
  const named = list(schema.oneOf ?? schema.anyOf).flatMap((each) => {
    const value = text(object(each).const);
    return value === undefined ? [] : [{ value, title: text(object(each).title) ?? value }];
  });
  if (named.length > 0) return named;
  const names = list(schema.enumNames);
  const plain = list(schema.enum).filter((value) => typeof value === "string");
  return plain.length > 0 ? plain.map((value, i) => ({ value, title: text(names[i]) ?? value })) : undefined;
}
