// Numbers as people read them. A number that would be rounded to the next unit has that unit.

/** `980`, `12.3k`, `1.2M`. */
export function count(n: number): string {
  if (n < 999.5) return String(Math.round(n));
  if (n < 999_500) return `${short(n / 1000)}k`;
  return `${short(n / 1_000_000)}M`;
}

/** Costs are small: four digits below a cent, two above. */
export function money(amount: number, currency = "USD"): string {
  const digits = amount !== 0 && Math.abs(amount) < 0.01 ? 4 : 2;
  try {
    return new Intl.NumberFormat(undefined, {
      style: "currency",
      currency,
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    }).format(amount);
  } catch {
    return `${amount.toFixed(digits)} ${currency}`; // a currency that nobody knows
  }
}

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  if (n < 1023.5 * 1024) return `${short(n / 1024)} KB`;
  if (n < 1023.5 * 1024 ** 2) return `${short(n / 1024 ** 2)} MB`;
  return `${short(n / 1024 ** 3)} GB`;
}

function short(n: number): string {
  return n < 100 ? n.toFixed(1).replace(/\.0$/, "") : Math.round(n).toString();
}
