import { utf8Bytes } from '../bounds.js';
import type { JobSpec } from '../job-spec.js';
import type { Path } from '../problem.js';
import { SECRET_NAME, SECRET_NAME_RULE, secretNamed } from '../secret-reference.js';
import { textValues } from './fields.js';
import type { Report } from './report.js';
import { warnOfSecret } from './secret-looks.js';
import type { JobFile } from './sections.js';

/** Variables of the command by value, from the section `env`. */
export function resolveEnv({ env }: JobFile, report: Report): Record<string, string> {
  for (const [name, value] of Object.entries(env ?? {})) checkVariableName(['env', name], name, report, value);
  const values = textValues(env);
  for (const [name, value] of Object.entries(values)) {
    warnOfSecret(['env', name], name, value, report);
    checkLength(name, value, report);
  }
  return values;
}

/** Linux starts no program with a longer `NAME=value` (MAX_ARG_STRLEN, 32 pages with the closing NUL). */
const MOST_VARIABLE_BYTES = 131_071;

function checkLength(name: string, value: string, report: Report): void {
  const bytes = utf8Bytes(`${name}=${value}`);
  if (bytes <= MOST_VARIABLE_BYTES) return;
  const message = `is ${bytes} bytes with its name, and Linux starts no program with a variable of more than ${MOST_VARIABLE_BYTES}`;
  report.problem(['env', name], value, message, TOO_LONG_HINT);
}

const TOO_LONG_HINT = 'put it into a file of the job (files:, bundle:), and its path into the variable';

/**
 * Variables of the command by the name of a secret: `secrets: {WANDB_API_KEY: wandb}`. The job holds only names. A worker reads
 * the values from the installation's secret store when it starts the command.
 */
export function resolveSecrets({ secrets, env }: JobFile, report: Report): JobSpec['secrets'] {
  const named = Object.entries(secrets ?? {}).map(([variable, reference]) => {
    const path = ['secrets', variable];
    checkVariableName(path, variable, report, reference);
    if (Object.hasOwn(env ?? {}, variable))
      report.problem(path, reference, 'is in env too', 'keep one of the two; a value in env is kept with the job');
    return [variable, checkSecretName(path, String(reference), report)] as const;
  });
  return named.length === 0 ? undefined : Object.fromEntries(named);
}

/** Accepts a plain name, or `secret:NAME` as elsewhere in a job file. @returns the plain name */
function checkSecretName(path: Path, reference: string, report: Report): string {
  const name = secretNamed(reference) ?? reference;
  // The problem does not repeat the value, because a user may have written the secret itself.
  if (!SECRET_NAME.test(name))
    report.problem(
      path,
      undefined,
      'is no name of a secret',
      `${SECRET_NAME_RULE}\njobctl secret put NAME keeps a value`,
    );
  return name;
}

/** Variables that jobctl sets itself on every host. Those of an array are in its members' files, which may also run alone. */
const OWN_VARIABLE = /^(JOBCTL_(?!ARRAY_)|MEGASCALE_)/;

function checkVariableName(path: Path, name: string, report: Report, value: unknown): void {
  if (!/^[A-Za-z_]\w*$/.test(name))
    report.wrong(path, name, 'no name of a variable', 'letters, digits and _; no digit first');
  else if (OWN_VARIABLE.test(name)) report.problem(path, value, 'is set by jobctl', 'take another name');
}
