import { isMapping } from '../../../domain/job-file/plain-tree.js';
import { showValue } from '../../../domain/problem.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { JOBSPEC_KEYS } from './bastion-keys.js';
import { Draft, type GivenKey } from './draft.js';
import { launchInside } from './import-launch.js';

/**
 * A job file for a job spec of Bastion (JSON).
 * @param file its name, for messages
 * @throws CliError if it is not one
 */
export function readJobspec(text: string, file: string): Draft {
  const spec = parsed(text, file);
  const given = Object.entries(spec).flatMap(([key, value]) =>
    key === 'metadata' ? inMetadata(value) : [{ key, value }],
  );
  const launch = typeof spec['command'] === 'string' ? launchInside(spec['command']) : undefined;
  const draft = launch?.draft ?? new Draft();
  if (launch !== undefined)
    draft.told.unshift({ key: 'command', fate: 'kept', text: 'it is a line of `launch run`, read as such:' });
  const rest = launch === undefined ? given : given.filter(({ key }) => key !== 'command');
  draft.take(JOBSPEC_KEYS, rest.map(shown), "Bastion's job spec");
  return draft;
}

const inMetadata = (metadata: unknown): readonly GivenKey[] =>
  Object.entries(isMapping(metadata) ? metadata : {}).map(([key, value]) => ({ key: `metadata.${key}`, value }));

const shown = ({ key, value }: GivenKey): GivenKey => ({ key, value, shown: `${key}: ${showValue(value)}` });

function parsed(text: string, file: string): Readonly<Record<string, unknown>> {
  const wanted = 'jobctl import bastion-jobspec takes the JSON that serialize_jobspec of AXLearn writes';
  let spec: unknown;
  try {
    spec = JSON.parse(text);
  } catch {
    throw new CliError(ExitCode.Usage, `${file}: is not JSON`, wanted);
  }
  const isSpec = isMapping(spec) && typeof spec['command'] === 'string' && isMapping(spec['metadata']);
  if (!isSpec)
    throw new CliError(
      ExitCode.Usage,
      `${file}: has no command (a text) and metadata, so it is no job spec of Bastion`,
      wanted,
    );
  return spec as Readonly<Record<string, unknown>>;
}
