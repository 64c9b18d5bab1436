/** Durations, times and amounts as texts for people. Nothing here needs a browser. */

/** `42 s`, `7 min`, `3 h 05`, `2 d 04`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${pad(minutes % 60)}`;
  return `${Math.floor(hours / 24)} d ${pad(hours % 24)}`;
}

const pad = (value: number): string => String(value).padStart(2, '0');

/** The reader's clock: `14:02`, or with the date unless it is today. */
export function clock(at: number, now: number): string {
  const [then, today] = [new Date(at), new Date(now)];
  const time = `${pad(then.getHours())}:${pad(then.getMinutes())}`;
  if (then.toDateString() === today.toDateString()) return time;
  return `${then.getFullYear()}-${pad(then.getMonth() + 1)}-${pad(then.getDate())} ${time}`;
}

/** `14:02:07`, for lists of events. */
export const exactClock = (at: number, now: number): string => `${clock(at, now)}:${pad(new Date(at).getSeconds())}`;

const ISO_TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z/g;

/** A sentence of the server with its times on the reader's clock. */
export const onClock = (sentence: string, now: number): string =>
  sentence.replaceAll(ISO_TIME, (time) => clock(Date.parse(time), now));

export const count = (number: number, noun: string): string =>
  `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;

const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** `0 B`, `1.5 KiB`, `16.0 MiB`. */
export function sizeText(bytes: number): string {
  const power = bytes < 1_024 ? 0 : Math.min(SIZES.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${power === 0 ? bytes : (bytes / 1_024 ** power).toFixed(1)} ${SIZES[power]}`;
}

/** `$12.34`; less than a cent with two digits that count, as `usdText` of domain/units.ts. */
export const usdText = (usd: number): string =>
  `$${usd > 0 && usd < 0.01 ? usd.toFixed(Math.min(20, 1 - Math.floor(Math.log10(usd)))) : usd.toFixed(2)}`;

export const unitsText = (units: Readonly<Record<string, number>>): string =>
  Object.entries(units)
    .map(([type, amount]) => `${amount} ${type}`)
    .join(' + ') || '-';

/** Only http and https addresses are links; anything else stays text. */
export function safeHref(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, href } = new URL(text);
  return protocol === 'http:' || protocol === 'https:' ? href : undefined;
}

const ADDRESS = /https?:\/\/[^\s"'<>`]+/g;
/** Matches a character that ends a sentence and not the address before it. */
const SENTENCE_END = /[.,;:!?)\]}]$/;

/** Splits a text at its addresses. Pieces with `href` are addresses. */
export function linkedParts(text: string): readonly { readonly text: string; readonly href?: string }[] {
  if (!text.includes('://')) return [{ text }];
  const parts: { readonly text: string; readonly href?: string }[] = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(ADDRESS)) {
    const address = SENTENCE_END.test(found) ? found.slice(0, -1) : found;
    const href = safeHref(address);
    if (href === undefined) continue;
    if (index > from) parts.push({ text: text.slice(from, index) });
    parts.push({ text: address, href });
    from = index + address.length;
  }
  return from < text.length ? [...parts, { text: text.slice(from) }] : parts;
}

/** Colour of a phase. Its name always stands beside the colour. */
export type Tone = 'good' | 'busy' | 'wait' | 'bad' | 'calm';
const TONES: Readonly<Record<string, Tone>> = {
  ...{ running: 'good', finishing: 'good', succeeded: 'calm', holding: 'busy' },
  ...{ 'setting-up': 'busy', provisioning: 'busy', evicting: 'bad', queued: 'wait', paused: 'wait', released: 'wait' },
  ...{ failed: 'bad', terminated: 'bad', cancelled: 'calm', refused: 'bad', open: 'good', waiting: 'wait' },
};
export const toneOf = (phase: string): Tone => (Object.hasOwn(TONES, phase) && TONES[phase]) || 'calm';
