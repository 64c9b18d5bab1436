import type { WorkspaceSpec } from '../workspace.js';
import type { CommandSpec } from '../modules/command.js';
import { given, secondsOf } from './fields.js';
import type { Report } from './report.js';
import type { JobFile } from './sections.js';

/** `idle` of a workspace whose file names none. */
export const DEFAULT_IDLE_SECONDS = 3600;
/** The shortest `idle`: in less time the worker may not have asked every host. */
const LEAST_IDLE_SECONDS = 10;
const MOST_IDLE_SECONDS = 7 * 24 * 3600;
const BOUNDS = 'from 10s to 168h, with the unit: idle: 30m';

/** The watcher of `cloud/hosts/runner/use.ts`, as the job's command: it runs until it is told to end. */
const WATCHER: CommandSpec = { run: 'exec /bin/sh "$JOBCTL_RUNNER" use', hosts: 'all' };

/** Starts of the watcher that failures may cause. Somebody who ends all of his processes loses no slice by it. */
export const WORKSPACE_TASK_RETRIES = 20;

export function resolveWorkspace(
  form: JobFile,
  report: Report,
): { readonly workspace: WorkspaceSpec; readonly command: CommandSpec } | undefined {
  if (form.workspace === undefined) return undefined;
  // With all of its keys commented out it is a workspace too.
  const section = form.workspace ?? { idle: undefined };
  const against = (path: readonly string[], value: unknown, why: string, hint: string): void => {
    if (given(value) !== undefined && value !== false)
      report.problem(path, value, `is not for a workspace: ${why}`, hint);
  };
  against(['command'], form.command, 'people log in to it', 'keep command or workspace');
  against(['loop'], form.loop ?? form.job?.loop, 'nothing of it is repeated', 'leave it out');
  against(['timeouts', 'no_output'], form.timeouts?.no_output, 'it prints nothing', 'workspace.idle is its limit');
  const keep = typeof form.keep === 'string' ? form.keep : form.keep?.when;
  if (keep === 'always') against(['keep'], keep, 'an idle one is given back', 'use keep: on-failure, or leave it out');
  against(['ray_cluster'], form.ray_cluster, 'Ray itself is never idle', 'ask for pods: kubernetes');
  const idle = given(section.idle);
  if (idle === 'never') {
    if (given(form.timeouts?.run) === undefined)
      report.problem(['workspace', 'idle'], idle, 'would never be given back', 'name its end too: timeouts: {run: 8h}');
    return { workspace: {}, command: WATCHER };
  }
  const idleSeconds = idle === undefined ? DEFAULT_IDLE_SECONDS : secondsOf(idle);
  if (!(idleSeconds >= LEAST_IDLE_SECONDS && idleSeconds <= MOST_IDLE_SECONDS))
    report.wrong(['workspace', 'idle'], idle, 'out of range', BOUNDS);
  return { workspace: { idleSeconds }, command: WATCHER };
}
