import { askedSize } from '../../../domain/machines.js';
import type { JobSpec } from '../../../domain/job-spec.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { asTyped } from '../../terminal/print.js';
import type { HostChoice } from '../job-filter.js';
import type { ShownLines } from '../watch/follow-to-end.js';

/**
 * The hosts whose lines `submit --wait` shows: the first host that runs the command, unless `asked` names others.
 * @throws CliError for a host that the job does not have
 */
export function shownLines(spec: JobSpec, asked: HostChoice | undefined): ShownLines {
  const { hosts: count } = askedSize(spec);
  if (asked === 'all') return { hostsOfSlice: hostsOfSlice(spec) };
  const absent = asked?.find((host) => host >= count);
  if (absent !== undefined) {
    const has = count === 1 ? 'it has one, with index 0' : `it has ${count}: 0 to ${count - 1}`;
    throw new CliError(ExitCode.Usage, `--host ${absent}: the job has no such host`, has);
  }
  return { hosts: asked ?? [runningHosts(spec)[0] ?? 0], hostsOfSlice: hostsOfSlice(spec) };
}

/** Message printed once, before the first line. Undefined: the lines of all hosts are shown. */
export function hiddenText(id: string, spec: JobSpec, { hosts }: ShownLines): string | undefined {
  const running = runningHosts(spec);
  if (hosts === undefined || spec.command === undefined || running.every((host) => hosts.includes(host)))
    return undefined;
  const shown = `host${hosts.length === 1 ? '' : 's'} ${hosts.join(', ')}`;
  return asTyped(
    `lines of ${shown} of ${running.length} are shown; \`--host all\` shows all, \`jobctl logs ${id} --host N\` another's`,
  );
}

/** Host numbers over all slices; `command.workers` counts within each slice. */
function runningHosts(spec: JobSpec): readonly number[] {
  const { hosts: count } = askedSize(spec);
  const all = Array.from({ length: count }, (_, host) => host);
  const hosts = spec.command?.hosts ?? 'all';
  return hosts === 'all' ? all : all.filter((host) => hosts.includes(host % hostsOfSlice(spec)));
}

const hostsOfSlice = (spec: JobSpec): number => Math.max(1, Math.round(askedSize(spec).hosts / spec.slices));
