import type { Path } from '../problem.js';
import type { Report } from './report.js';

/** Beginnings by which people's secrets are known, and what each of them is. */
const KNOWN: readonly (readonly [RegExp, string])[] = [
  [/\bhf_[A-Za-z0-9]{10}/, 'a token of Hugging Face'],
  [/\bgh[pousr]_[A-Za-z0-9]{20}|\bgithub_pat_\w{20}/, 'a token of GitHub'],
  [/\bsk-[A-Za-z0-9_-]{16}/, 'an API key'],
  [/\bAKIA[0-9A-Z]{16}\b/, 'an access key of AWS'],
  [/-----BEGIN [A-Z ]*PRIVATE KEY/, 'a private key'],
];

const SECRET_NAME = /(^|_)(TOKEN|KEY|SECRET|CREDENTIALS?)$|PASSWORD|PASSWD/i;
/** Shorter ones are words (PAD_TOKEN: <pad>), and what has blanks or a slash at its front is a text or a path. */
const SECRET_VALUE = /^(?![/~.])(?!\d+$)\S{8,}$/;
const ANY_VALUE = /PASSWORD|PASSWD/i;

/** What a value looks like; undefined: no secret. */
function secretIn(name: string | undefined, value: string): string | undefined {
  const known = KNOWN.find(([mark]) => mark.test(value))?.[1];
  if (known !== undefined) return known;
  if (name === undefined || !SECRET_NAME.test(name) || value === '') return undefined;
  return ANY_VALUE.test(name) || SECRET_VALUE.test(value) ? 'a secret' : undefined;
}

/**
 * Warns of a variable whose value looks like a secret: it would be kept with the job, in the clear (F17). It may be none, so this
 * refuses nothing, and it never repeats the value.
 */
export function warnOfSecret(path: Path, name: string, value: string, report: Report): void {
  const what = secretIn(name, value);
  if (what === undefined) return;
  const secret = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  report.warn(
    path,
    `looks like ${what}, and a value in the job file is kept in the clear with the job. ` +
      `\`jobctl secret put ${secret} --from-file FILE\` keeps it, and secrets: {${name}: ${secret}} gives it to the command`,
  );
}

/** The same of a text that people wrote, such as a command. */
export function warnOfSecretIn(path: Path, text: string, report: Report): void {
  const what = secretIn(undefined, text);
  if (what === undefined) return;
  report.warn(
    path,
    `holds what looks like ${what}, and is kept in the clear with the job. \`jobctl secret put NAME --from-file FILE\` keeps it, ` +
      `and secrets: {VARIABLE: NAME} gives it to the command`,
  );
}
