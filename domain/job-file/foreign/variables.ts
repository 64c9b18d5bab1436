import { isSecret, isSecretName } from '../secret-looks.js';
import { OPEN, shownOf, type Translation } from './translation.js';

/** Variables of a command, each with its value; without one it is the submitter's. */
export type Given = readonly (readonly [name: string, value: unknown])[];

const NAME = /^[A-Za-z_]\w*$/;

/** Writes them into `env`. Secrets go by their names alone: messages end up in logs and screenshots. */
export function putVariables(into: Translation, given: Given): void {
  const env: Record<string, string> = {};
  const secrets: Record<string, string> = {};
  for (const [name, value] of given) {
    if (!NAME.test(name)) into.lose('no name of a variable', name);
    else if (isReserved(name)) into.lose('jobctl sets it by itself', name);
    else if (isSecretName(name) && (hasNoValue(value) || value === '')) secrets[name] = secretNameOf(name);
    else if (isSecret(name, shownOf(value))) secrets[name] = secretNameOf(name);
    else env[name] = hasNoValue(value) ? OPEN : shownOf(value);
  }
  if (Object.keys(env).length > 0) into.set('env', env);
  const [first] = Object.values(secrets);
  if (first === undefined) return;
  into.set('secrets', secrets, `each by \`jobctl secret put ${first} --from-file FILE\``);
}

export const secretNameOf = (variable: string): string => variable.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

/** Matches `${{ secrets.x }}` and `${X}` alone, which the other tool fills in. */
const hasNoValue = (value: unknown): boolean =>
  value === null || value === undefined || /^\$\{[^}]*\}\}?$/.test(shownOf(value));
const isReserved = (name: string): boolean => name.startsWith('JOBCTL_') || name.startsWith('MEGASCALE_');

/** Variables that the other tool sets, and what jobctl has in their place. */
export interface OwnVariables {
  /** Beginning of all its variables. */
  readonly prefix: string;
  readonly names: Readonly<Record<string, string>>;
}

/** Notes which of the tool's own variables a script reads. */
export function noteVariables(
  into: Translation,
  { prefix, names }: OwnVariables,
  ...scripts: readonly unknown[]
): void {
  const words = scripts.flatMap((script) => (typeof script === 'string' ? script.split(/\W+/) : []));
  for (const name of new Set(words.filter((word) => word.startsWith(prefix) && word.length > prefix.length)))
    into.lose(names[name] ?? 'jobctl sets no such variable', `$${name}`);
}
