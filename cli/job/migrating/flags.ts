import type { GivenKey, KeyRule } from './draft.js';

export interface SplitLine {
  readonly given: readonly GivenKey[];
  /** Words without a flag before them, such as an action. */
  readonly words: readonly string[];
}

/**
 * Splits a command line of another tool: `--key=value`, `--key value`, `--switch`, and absl's `--noswitch`. A flag without a rule
 * takes the next word as its value unless that is a flag.
 * @param args without `--` and what follows it
 */
export function splitFlags(args: readonly string[], rules: readonly KeyRule[]): SplitLine {
  const given: GivenKey[] = [];
  const words: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? '';
    const match = /^(--?[A-Za-z][\w-]*)(?:=([^]*))?$/.exec(word);
    if (match === null) {
      words.push(word);
      continue;
    }
    const [, name = '', value] = match;
    const ruled = ruleOf(name, rules);
    const key = ruled?.key ?? name;
    if (value !== undefined) given.push({ key, value, shown: word });
    else if (ruled?.isSwitch === true) given.push({ key, value: true, shown: word });
    else {
      const next = args[at + 1];
      const isValue = next !== undefined && !next.startsWith('--');
      if (isValue) at++;
      given.push({ key, value: isValue ? next : true, shown: isValue ? `${word} ${next}` : word });
    }
  }
  return { given: given.filter(({ key }) => key !== OFF), words };
}

/** A switch that is said to be off is as if it were not there. */
const OFF = '';

/** absl takes `-name` for `--name`, and `--noname` for a switch. Both tools' users write `_` and `-` for one another. */
function ruleOf(name: string, rules: readonly KeyRule[]): KeyRule | undefined {
  const plain = (text: string): string => text.replace(/^--?/, '').replaceAll('-', '_');
  const found = rules.find(({ key }) => plain(key) === plain(name));
  if (found !== undefined || !plain(name).startsWith('no')) return found;
  const isOff = rules.some(({ key, isSwitch }) => isSwitch === true && plain(key) === plain(name).slice(2));
  return isOff ? { key: OFF, isSwitch: true } : undefined;
}
