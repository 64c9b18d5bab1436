import { reachFacts } from '../../../domain/slice.js';
import type { JobClient } from '../../../client/job-client.js';
import type { JobRow } from '../../../client/job-rows.js';
import { shellQuote } from '../../../domain/shell-quote.js';
import { BY_FLAGS, readJobSource } from '../../job/job-file.js';
import { printJson } from '../../jobs/submitting/after-submit.js';
import { readJob } from '../../jobs/submitting/read-job.js';
import { hostsOfJob, type RouteFlags } from '../../jobs/hosts/job-hosts.js';
import { type ReachFlags, reachHosts } from '../../jobs/hosts/reach.js';
import {
  addInclude,
  includeLine,
  isIncluded,
  removeEnded,
  type SshAliases,
  writeAliases,
} from '../../jobs/hosts/ssh-alias.js';
import { SyncedFolder } from '../../jobs/sync/synced-folder.js';
import { withClient } from '../../place/connect.js';
import { LOCAL_CONTEXT } from '../../place/contexts/contexts-file.js';
import { type ContextFlags, resolveContext } from '../../place/context.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { watchEnd } from '../../terminal/interruptions.js';
import type { OutputFlag } from '../../terminal/options.js';
import { asTyped, printErr, printOut, shortPath } from '../../terminal/print.js';
import { withoutSsh } from './on-hosts.js';
import { sync } from './sync.js';
import { checkFlags, type SubmitFlags, submitRead } from './submit.js';

interface SshConfigFlags extends ReachFlags, OutputFlag {
  readonly sshConfig?: true;
}

export type WorkspaceFlags = Omit<SubmitFlags, 'wait' | 'host' | 'sweep' | 'workspace'> &
  RouteFlags & { readonly idle?: string; readonly for?: string; readonly sshConfig?: true; readonly sync?: string };

/** Submits a workspace, waits until it runs, and names its hosts for OpenSSH. @param file absent: `--tpu` defines its machines */
export async function workspace(file: string | undefined, flags: WorkspaceFlags): Promise<number> {
  const { idle, for: run, sync: folder, ...others } = flags;
  if (folder !== undefined) await SyncedFolder.open(folder);
  const read = { ...others, workspace: { idle, run }, verdict: false };
  checkFlags(read);
  if (file === undefined && flags.tpu === undefined)
    throw new CliError(
      ExitCode.Usage,
      'jobctl workspace: neither a job file nor --tpu is given',
      'jobctl workspace --tpu v5litepod-8 --zone us-central1-a, or jobctl workspace train.yaml, whose command is then left out',
    );
  const job = await readJob(file, file === undefined ? '' : readJobSource(file), read, undefined);
  if (job.array !== undefined)
    throw new CliError(
      ExitCode.Usage,
      `jobctl workspace: ${file} is an array, and one workspace is wanted`,
      'leave array out: --set array=null',
    );
  let id: string | undefined;
  const code = await submitRead(job, file ?? BY_FLAGS, read, (submitted) => void (id = submitted.id));
  if (code !== ExitCode.Done || id === undefined) return code;
  // The stack's name, because another context may be the current one.
  const reach: SshConfigFlags = flags.local === true ? { ...flags, context: LOCAL_CONTEXT } : flags;
  const ended = await untilRunning(id, reach);
  if (ended === undefined) {
    const named = await nameHosts(id, reach);
    return folder === undefined || named !== ExitCode.Done ? named : sync(folder, `${id}:`, reach);
  }
  if (ended !== ExitCode.Done) return ended;
  // A script goes on to log in.
  printErr(asTyped(`${id} has ended, so there is no workspace; for a new one choose another --name, or none\n`));
  return ExitCode.Failed;
}

/** Names the hosts of a job for OpenSSH. */
export const sshConfig = (job: string, flags: SshConfigFlags): Promise<number> => nameHosts(job, flags);

/** Shows the job's phases until it runs. @returns the exit code if it does not come to that: it ended, or Ctrl-C */
async function untilRunning(id: string, flags: ContextFlags & OutputFlag): Promise<number | undefined> {
  const context = resolveContext(flags);
  const [{ watchJob }, { exitCodeOf, interrupted }, { openScreen }] = await Promise.all([
    import('../../jobs/watch/watch-job.js'),
    import('../../jobs/watch/follow-to-end.js'),
    import('../../jobs/watch/screen.js'),
  ]);
  const runs = new AbortController();
  const end = watchEnd();
  const screen = openScreen(flags.output === 'json');
  return withClient(context, async (client) => {
    const seen = {
      unattended: (row: JobRow) => client.unattended(row),
      row: async (job: string): Promise<JobRow> => {
        const row = await client.row(job);
        if (row.phase === 'running') runs.abort();
        return row;
      },
    };
    const signal = AbortSignal.any([end, runs.signal]);
    const row = await watchJob({ client: seen, id, screen, signal, isServed: context.server !== undefined });
    if (runs.signal.aborted) return undefined;
    if (row === undefined) return interrupted(id, screen);
    // A refused job has no outcome, and its refusal is thrown here.
    if (row.outcome === undefined) await client.wait(id);
    screen.line({ live: `${row.phase}: ${row.why ?? ''}`, plain: `${row.phase}: ${row.why ?? ''}` });
    return exitCodeOf(row);
  });
}

async function nameHosts(id: string, flags: SshConfigFlags): Promise<number> {
  const isJson = flags.output === 'json';
  const areContainers = await withClient(resolveContext(flags), async (client) => {
    await removeEnded(client);
    return runsInContainers(client, id);
  });
  if (areContainers) {
    if (flags.sshConfig === true) throw withoutSsh(id);
    if (isJson) printJson({ id, hosts: [] });
    else
      printOut(
        asTyped(
          `a shell:  jobctl ssh ${id}\nfiles:    jobctl cp SOURCE.. ${id}:\na port:   jobctl port-forward ${id} 8888\n`,
        ),
      );
    return ExitCode.Done;
  }
  const reach = await reachHosts(id, 'all', flags);
  if (reach.by === 'exec') throw withoutSsh(id);
  // The job's own key opens its hosts alone. One of the secret store may open much more.
  if (reach.key.file === undefined && reach.view.spec.ssh !== undefined)
    throw new CliError(
      ExitCode.Refused,
      `${id}: its key is in the secret store, and names for ssh need a key in a file`,
      asTyped(`name a file of yours that holds it: jobctl ssh-config ${id} --identity FILE; or use jobctl ssh ${id}`),
    );
  const named = writeAliases(reach, flags);
  if (flags.sshConfig === true) addInclude();
  if (isJson) printJson({ id, hosts: named.aliases, config: named.config, include: includeLine() });
  else printOut(`${namedLines(id, named).join('\n')}\n`);
  return ExitCode.Done;
}

async function runsInContainers(client: JobClient, id: string): Promise<boolean> {
  const { hosts } = await hostsOfJob(client, id);
  return hosts.some(({ target }) => reachFacts(target.reach).areContainers);
}

function namedLines(id: string, { config, aliases }: SshAliases): readonly string[] {
  const [, ...others] = aliases;
  const also = others.length === 0 ? '' : ` (other hosts: ${others.map(({ alias }) => alias).join(', ')})`;
  const isNamed = isIncluded();
  const ssh = isNamed ? 'ssh' : `ssh -F ${shellQuote(config)}`;
  const usable = isNamed
    ? [`VS Code:  code --remote ssh-remote+${id} ~`, `files:    rsync -a work/ ${id}:work/`]
    : [
        `for VS Code, rsync and plain \`ssh ${id}\`, ${shortPath('~/.ssh/config')} has to begin with this line (--ssh-config adds it):`,
        `  ${includeLine()}`,
      ];
  return [
    `a shell:  ${ssh} ${id}${also}`,
    ...usable,
    asTyped(`Jupyter:  jobctl port-forward ${id} 8888`),
    asTyped(`given up: jobctl cancel ${id}; status says when it is given back by itself`),
  ];
}
