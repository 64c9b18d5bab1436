const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/y;

/** Parses a duration such as `90s`, `1h30m` or `500ms` to ms; undefined if it is not one. A bare `0` is 0. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  let sum = 0;
  PART.lastIndex = 0;
  while (PART.lastIndex < text.length) {
    const [, amount, unit] = PART.exec(text) ?? [];
    if (amount === undefined || unit === undefined) return undefined;
    sum += Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS];
  }
  return text === '' ? undefined : Math.round(sum);
}

/** The shortest text that `parseDuration` reads as `ms`. */
export function formatDuration(ms: number): string {
  const units = Object.entries(UNIT_MS).toReversed();
  let rest = ms;
  let text = '';
  for (const [unit, length] of units) {
    const amount = Math.floor(rest / length);
    if (amount > 0) text += `${amount}${unit}`;
    rest -= amount * length;
  }
  return text || '0';
}
