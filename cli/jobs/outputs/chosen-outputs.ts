import type { StoreReader } from '../../../cloud/store/port.js';
import { ManifestWrong } from '../../../domain/stored-outputs.js';
import { count } from '../../../domain/units.js';
import { type HostOutputs, jobOutputs } from '../../../client/job-outputs.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { withClient } from '../../place/connect.js';
import type { CliContext } from '../../place/context.js';
import type { HostChoice } from '../hosts/host-options.js';
import { clockTime } from '../../terminal/render/quantities.js';

interface Choice {
  readonly attempt?: number;
  readonly host?: HostChoice;
}

/**
 * The chosen outputs of a job, and notes about them: the command still runs, files are missing, other hosts stored files too.
 * @param unsaid hosts that are meant without `--host`
 * @throws CliError if there are no outputs
 */
export async function chosenOutputs(
  store: StoreReader,
  context: CliContext,
  job: string,
  { attempt, host }: Choice,
  unsaid: 'one host' | 'all',
): Promise<{ readonly chosen: readonly HostOutputs[]; readonly notes: readonly string[] }> {
  const hosts = host === undefined || host === 'all' ? undefined : host;
  const found = await jobOutputs(store, job, { attempt, hosts }).catch((error: unknown) => {
    if (!(error instanceof ManifestWrong)) throw error;
    throw new CliError(ExitCode.Failed, error.message, 'nothing was written: no host of jobctl writes such a manifest');
  });
  const full = found.hosts.filter(({ manifest }) => manifest.entries.length > 0);
  if (full.length === 0) throw await nothing(context, job, { attempt, hosts }, found);
  const chosen = host === undefined && unsaid === 'one host' ? full.slice(0, 1) : full;
  const missing = hosts?.filter((number) => !full.some((one) => one.host === number)) ?? [];
  return { chosen, notes: [...notesOn(chosen), ...others(full, chosen), ...emptyHosts(missing)] };
}

function notesOn(chosen: readonly HostOutputs[]): string[] {
  return chosen.flatMap(({ host, manifest: { state, at, problems } }) => [
    ...(state === 'running' ? [`host ${host}: as it was at ${clockTime(at)}, before its command had ended`] : []),
    ...problems.map((problem) => `host ${host}: ${problem}`),
  ]);
}

function others(full: readonly HostOutputs[], chosen: readonly HostOutputs[]): string[] {
  const rest = full.filter((one) => !chosen.includes(one));
  if (rest.length === 0) return [];
  const files = rest.reduce((sum, { manifest }) => sum + manifest.files, 0);
  return [`${count(rest.length, 'other host')} stored ${count(files, 'file')}: --host all puts each host's in host-N/`];
}

const emptyHosts = (missing: readonly number[]): string[] =>
  missing.length === 0 ? [] : [`nothing is stored of host ${missing.join(', ')}`];

async function nothing(
  context: CliContext,
  job: string,
  { attempt, hosts }: { readonly attempt: number | undefined; readonly hosts: readonly number[] | undefined },
  { attempts }: { readonly attempts: readonly number[] },
): Promise<CliError> {
  const of = [
    ...(hosts === undefined ? [] : [`host ${hosts.join(', ')}`]),
    ...(attempt === undefined ? [] : [`attempt ${attempt}`]),
  ].join(', ');
  if (attempts.length > 0)
    return new CliError(
      ExitCode.NotFound,
      `${job}: no files are stored${of === '' ? '' : ` of ${of}`}`,
      `attempts with outputs: ${attempts.join(', ')}; \`jobctl outputs ${job}\` lists the newest`,
    );
  // This throws if the job does not exist.
  const row = await withClient(context, (client) => client.row(job));
  return new CliError(
    ExitCode.NotFound,
    `${job} has no stored outputs${row.endedAt === undefined ? ` yet: it is ${row.phase}` : ''}`,
    'stored are the files in $JOBCTL_OUTPUT_DIR, and what `outputs: [out, "*.ckpt"]` of the job file names',
    ...(row.outcome?.outputs?.missing ?? []).map(({ host: number, why }) => `host ${number}: ${why}`),
    ...(row.endedAt === undefined ? [`files on its hosts: jobctl cp ${job}:PATH .`] : []),
  );
}
