import type { Path } from '../problem.js';
import type { Report } from './report.js';

/** Prefixes by which secrets are recognized, and the sort of each. */
const KNOWN: readonly (readonly [RegExp, string])[] = [
  [/\bhf_[A-Za-z0-9]{10}/, 'a token of Hugging Face'],
  [/\bgh[pousr]_[A-Za-z0-9]{20}|\bgithub_pat_\w{20}/, 'a token of GitHub'],
  [/\bsk-[A-Za-z0-9_-]{16}/, 'an API key'],
  [/\bA(KIA|SIA)[0-9A-Z]{16}\b/, 'an access key of AWS'],
  [/\bAIza[0-9A-Za-z_-]{35}/, 'an API key of Google'],
  [/\bya29\.[0-9A-Za-z_-]{20}/, 'an access token of Google'],
  [/\bxox[abprs]-[0-9A-Za-z-]{10}/, 'a token of Slack'],
  [/\bglpat-[0-9A-Za-z_-]{20}/, 'a token of GitLab'],
  [/\bnpm_[0-9A-Za-z]{36}/, 'a token of npm'],
  [/\bpypi-[0-9A-Za-z_-]{50}/, 'a token of PyPI'],
  [/\bdckr_pat_[0-9A-Za-z_-]{20}/, 'a token of Docker'],
  [/\bwandb_v\d+_[0-9A-Za-z_]{20}/, 'an API key of Weights & Biases'],
  [/\beyJ[0-9A-Za-z_-]{10,2000}\.eyJ[0-9A-Za-z_-]{10}/, 'a JSON web token'],
  [/\b[a-z][a-z0-9+]{1,20}:\/\/[^\s/:@$]{1,100}:[^\s/@$]{3,200}@/, 'a password in a URL'],
  [/-----BEGIN [A-Z ]*PRIVATE KEY/, 'a private key'],
];

const SECRET_NAME = /(^|_)(TOKEN|(API)?KEY|SECRET|CREDENTIALS?|PAT|PASS)$|PASSWORD|PASSWD|PASSPHRASE/i;
/** A value of fewer than 8 characters is a word (PAD_TOKEN: <pad>). One with blanks, or a slash in front, is a text or a path. */
const SECRET_VALUE = /^(?![/~.])(?!\d+$)\S{8,}$/;
const ANY_VALUE = /PASSWORD|PASSWD|PASSPHRASE/i;

/** Whether a variable's name alone says that its value is a secret. */
export const isSecretName = (name: string): boolean => SECRET_NAME.test(name);

/** Whether a variable's value looks like a secret. */
export const isSecret = (name: string, value: string): boolean => secretIn(name, value) !== undefined;

/** The sort of secret that a value looks like, or undefined if it does not. */
function secretIn(name: string | undefined, value: string): string | undefined {
  const known = KNOWN.find(([mark]) => mark.test(value))?.[1];
  if (known !== undefined) return known;
  if (name === undefined || !SECRET_NAME.test(name.replaceAll('-', '_')) || value === '') return undefined;
  return ANY_VALUE.test(name) || SECRET_VALUE.test(value) ? 'a secret' : undefined;
}

/**
 * Warns of a variable whose value looks like a secret, because it would be kept with the job in the clear (F17). The value may
 * not be a secret, so this refuses nothing. It never repeats the value.
 */
export function warnOfSecret(path: Path, name: string, value: string, report: Report): void {
  const what = secretIn(name, value);
  if (what === undefined) return;
  const variable = name.replaceAll(/\W/g, '_');
  const secret = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  report.warn(
    path,
    `looks like ${what}, and a value in the job file is kept in the clear with the job. ` +
      `\`jobctl secret put ${secret} --from-file FILE\` keeps it, and secrets: {${variable}: ${secret}} gives it to the command`,
  );
}

/**
 * Ways in which a script passes a value under a name: `export NAME=value`, `NAME=value python3 ..`, `-e NAME=value`, and options
 * of programs, such as `--api-key value`. The value is one word of the shell.
 */
const VALUE = String.raw`(?<value>'[^'\n]*'|"(?:[^"\\\n]|\\.)*"|[^\s'"\`;&|()<>]+)`;
const HANDED_ON: readonly RegExp[] = [
  new RegExp(String.raw`(?<![\w$./{-])(?<name>[A-Za-z_]\w{0,99})\+?=${VALUE}`, 'g'),
  new RegExp(String.raw`(?<![\w-])--?(?<name>[A-Za-z][\w-]{0,99})(?:=|[ \t]+)(?!-|[A-Za-z_]\w*=)${VALUE}`, 'g'),
  new RegExp(String.raw`(?<![\w-])(?:setenv|set -gx|set -x)[ \t]+(?<name>[A-Za-z_]\w{0,99})[ \t]+${VALUE}`, 'g'),
];
/** Programs that take the key as a bare word. */
const LOGS_IN = new RegExp(String.raw`(?<![\w-])(?<name>wandb)[ \t]+login[ \t]+(?:--relogin[ \t]+)?(?!-)${VALUE}`, 'g');

/** Warns of values in a script that look like secrets: once for each name, and once for all values without a name. */
export function warnOfSecretIn(path: Path, text: string, report: Report): void {
  for (const { name, what } of secretsIn(text)) {
    const holds = name === undefined ? `holds what looks like ${what}` : `gives ${name} what looks like ${what}`;
    report.warn(path, `${holds}, ${IN_THE_CLEAR}`);
  }
}

/** Whether a script holds what looks like a secret. */
export const holdsSecret = (script: string): boolean => secretsIn(script).length > 0;

function secretsIn(text: string): readonly { readonly name?: string; readonly what: string }[] {
  const named = HANDED_ON.flatMap((form) => [...text.matchAll(form)]).flatMap(
    ({ groups: { name = '', value = '' } = {} }) => {
      const what = secretInWord(name, value);
      return what === undefined ? [] : [{ name, what }];
    },
  );
  const byName = new Map(named.map((one) => [one.name, one]));
  if (byName.size > 0) return [...byName.values()];
  const what = secretIn(undefined, text) ?? loginIn(text) ?? writtenIn(text);
  return what === undefined ? [] : [{ what }];
}

const IN_THE_CLEAR =
  'and is kept in the clear with the job. `jobctl secret put NAME --from-file FILE` keeps it, ' +
  'and secrets: {VARIABLE: NAME} gives it to the command';

/** Matches a value that is one variable. It is computed even in single quotes, since those may stand inside double quotes. */
const VARIABLE = /^\$(\{\w+\}|[A-Z_][A-Z\d_]*)$/;

/** A word that the shell computes on the host is not a secret in the file. */
function secretInWord(name: string, word: string): string | undefined {
  const value = /^'.*'$|^".*"$/.test(word) ? word.slice(1, -1) : word;
  const isComputed = VARIABLE.test(value) || (!word.startsWith("'") && /[$`]/.test(value));
  return isComputed ? undefined : secretIn(name, value);
}

const loginIn = (text: string): string | undefined =>
  [...text.matchAll(LOGS_IN)].some(({ groups }) => secretInWord('key', groups?.['value'] ?? '') !== undefined)
    ? 'an API key'
    : undefined;

/** Letters and digits as no word has them: a value without a name is a secret only if it looks drawn at random. */
const RANDOM = String.raw`(?=[A-Za-z]{0,60}\d)(?=\d{0,60}[A-Za-z])[A-Za-z0-9]{20,200}`;
const IN_FILES = 'wandb|token|netrc|secret|credential|passw|api.?key|kaggle|huggingface';
/** Values that a script writes into a file of secrets, or hands to the input of a login. */
const WRITTEN: readonly RegExp[] = [
  new RegExp(
    String.raw`\b(?:echo|printf)[ \t]+(?:-n[ \t]+)?(['"]?)${RANDOM}(?:\\n)?\1[ \t]*(?:>{1,2}|\|[ \t]*(?:sudo[ \t]+)?tee(?:[ \t]+-a)?)[ \t]*\S{0,200}(?:${IN_FILES})`,
    'i',
  ),
  new RegExp(
    String.raw`\b(?:echo|printf)[ \t]+(['"]?)${RANDOM}(?:\\n)?\1[ \t]*\|[ \t]*[\w./-]+[ \t]+(?:\w+[ \t]+)?login\b`,
  ),
  new RegExp(String.raw`\blogin\b[^\n;|&]{0,200}<<<[ \t]*(['"]?)${RANDOM}\1(?![\w])`),
  new RegExp(
    String.raw`>{1,2}[ \t]*\S{0,200}(?:${IN_FILES})\S{0,100}[ \t]*<<-?[ \t]*(['"]?)\w+\1[ \t]*\n[ \t]*${RANDOM}[ \t]*\n`,
    'i',
  ),
];
/** Matches a line of a file of keys, in YAML or JSON. A line such as `sort_key: customer_id` has no random value. */
const KEY_LINES = new RegExp(
  String.raw`(?<![\w$-])['"]?(?<name>[A-Za-z][\w-]{0,99})['"]?[ \t]*:[ \t]*['"]?(?<value>${RANDOM})(?![\w.-])`,
  'g',
);
/** `machine HOST login USER password VALUE`, in one line or several. */
const NETRC =
  /\bmachine(?:\s|\\n){1,20}\S{1,100}?(?:\s|\\n){1,20}(?:(?:login|account)(?:\s|\\n){1,20}\S{1,100}?(?:\s|\\n){1,20}){0,2}password(?:\s|\\n){1,20}(?<value>[^\s'"\\]+)/g;

function writtenIn(text: string): string | undefined {
  const ofNetrc = [...text.matchAll(NETRC)].map(({ groups }) => groups?.['value'] ?? '');
  if (ofNetrc.some((value) => !/^[%<]|[$`]/.test(value))) return 'a password';
  const ofKeys = [...text.matchAll(KEY_LINES)].map(({ groups }) => groups ?? {});
  const isWritten = WRITTEN.some((form) => form.test(text));
  return isWritten || ofKeys.some(({ name = '', value = '' }) => secretIn(name, value) !== undefined)
    ? 'a secret'
    : undefined;
}
