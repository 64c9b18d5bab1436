import type { JobSpec } from '../job-spec.js';
import { SECRET_NAME, SECRET_NAME_RULE, secretNamed } from '../secret-reference.js';
import type { Report } from './report.js';
import { checkVariableName } from './variable-name.js';
import type { JobFile } from './sections.js';

/**
 * `secrets: {WANDB_API_KEY: wandb}`: variables of the command whose values are in the installation's secret store. The job
 * holds names alone; a worker reads the values when it starts the command.
 */
export function resolveSecrets(form: JobFile, report: Report): JobSpec['secrets'] {
  const named = Object.entries(form.secrets ?? {}).map(([variable, reference]) => {
    const path = ['secrets', variable];
    checkVariableName(path, variable, report, reference);
    if (Object.hasOwn(form.env ?? {}, variable))
      report.problem(path, reference, 'is in env too', 'keep one of the two; a value in env is kept with the job');
    return [variable, checkName(path, String(reference), report)] as const;
  });
  return named.length === 0 ? undefined : Object.fromEntries(named);
}

/** The name alone; `secret:NAME` is taken too, as it stands elsewhere in a job file. */
function checkName(path: readonly string[], reference: string, report: Report): string {
  const name = secretNamed(reference) ?? reference;
  // Somebody may have written the secret itself: it is not repeated.
  if (!SECRET_NAME.test(name))
    report.problem(
      path,
      undefined,
      'is no name of a secret',
      `${SECRET_NAME_RULE}\njobctl secret put NAME keeps a value`,
    );
  return name;
}
