import type { Translation } from './translation.js';

/** A loop of a script. */
export interface Loop {
  readonly line: number;
  /** Its beginning, such as `for i in 0 1 2`. */
  readonly text: string;
}

/** A command that asks for machines, perhaps in a loop. */
export interface InLoop {
  readonly flags: ReadonlyMap<string, readonly string[]>;
  readonly loop?: Loop | undefined;
}

/** The loop that a line begins, if it does. */
export function loopIn(words: readonly string[], line: number): Loop | undefined {
  if (!['for', 'while', 'until'].includes(words[0] ?? '')) return undefined;
  // The semicolons of `for ((i = 0; i < 3; i++)); do` stand inside of its brackets.
  const from = words[1]?.startsWith('((') === true ? words.findIndex((word) => /\)\);?$/.test(word)) : 0;
  const end = words.findIndex((word, at) => at >= from && (word === 'do' || word === ';' || word.endsWith(';')));
  const head = words.slice(0, end === -1 ? words.length : end + 1).filter((word) => word !== 'do');
  return { line, text: head.join(' ').replace(/;$/, '').trim() };
}

/** Names the loops around commands that ask for machines. Those that only ask again are not needed: a job does so by itself. */
export function tellLoops(into: Translation, launches: readonly InLoop[]): void {
  for (const { loop, flags } of launches) {
    if (loop === undefined) continue;
    const shown = `\`${loop.text}\` of line ${loop.line}`;
    const [, variable] = /^for (\w+) in\b/.exec(loop.text) ?? [];
    const isIn = (zone: string): boolean => zone.includes('$') && zone.split(/\W+/).includes(variable ?? '');
    const isOfZones = variable !== undefined && (flags.get('--zone') ?? []).some(isIn);
    if (/^until |^while (true|:|1|!)( |$)/.test(loop.text)) into.note(`${shown}: a job asks again by itself`);
    else if (isOfZones) into.lose('a job asks in each of tpu.zones: write them there', shown);
    else into.lose('a job for each: `jobctl submit` in the loop, with what differs by --set', shown);
  }
}
