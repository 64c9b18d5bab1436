import { z } from 'zod';
import { duration, given, section, secondsOf, text, hostIndexes } from './job-file/fields.js';
import type { Report } from './job-file/report.js';

/** Scripts of a job that jobctl runs on its hosts at a moment of the job's life (docs/adr/0048). */
export const HOOKS = ['preemption', 'success', 'failure', 'finally'] as const;
export type HookName = (typeof HOOKS)[number];
/** The hooks that run once per job, when its outcome is known. `preemption` runs in each attempt that is preempted. */
export type EndHook = Exclude<HookName, 'preemption'>;

export interface HookSpec {
  /** Runs like `command.run`: in the same environment, bundle and container. */
  readonly run: string;
  /** Seconds after which it is killed. */
  readonly seconds: number;
  /** Indexes in each slice. `all`: every host that runs the command. `first`: only the first of these. */
  readonly hosts: 'first' | 'all' | readonly number[];
}
export type HookSpecs = { readonly [Name in HookName]?: HookSpec };

/** The result of a hook. It never changes the outcome of its job. */
export interface HookReport {
  readonly hook: EndHook;
  /** `unknown`: no worker saw its end in time; it may have run. */
  readonly status: 'done' | 'failed' | 'timed-out' | 'not-run' | 'unknown';
  /** One sentence; if the status is `done`, about what the hook left running. */
  readonly message?: string;
}

/** The longest time for which an end hook may hold the chips of a job that has its outcome. */
const MOST_SECONDS = 3600;
const DEFAULT_SECONDS = 300;
/** Default time of the hook `preemption`, which leaves some of a Spot VM's 30 s to the command. */
const DEFAULT_PREEMPTION_SECONDS = 15;

const hookForm = () =>
  z.union(
    [
      text(),
      section({
        run: text().nullish().describe('Runs as command.run does.'),
        timeout: duration().nullish().describe('After which it is killed; 15s for preemption, else 5m.'),
        workers: hostIndexes().nullish().describe('As command.workers. Without it the first host; for preemption all.'),
      }),
    ],
    { error: 'a script, or a section {run, timeout, workers}' },
  );

export const hooksForm = () =>
  section({
    preemption: hookForm().nullish().describe('Before a command that is preempted hears of its end, within its grace.'),
    success: hookForm().nullish().describe('When the job has succeeded, before its slices go.'),
    failure: hookForm().nullish().describe('When the job has failed, before its slices go.'),
    finally: hookForm().nullish().describe('When the job has ended, cancelled too, before its slices go.'),
  });

type HooksSection = z.infer<ReturnType<typeof hooksForm>>;

/** @param graceSeconds bounds `preemption`, so that the command has the rest */
export function resolveHooks(
  hooks: HooksSection | null | undefined,
  { hasCommand, graceSeconds }: { readonly hasCommand: boolean; readonly graceSeconds: number },
  report: Report,
): HookSpecs | undefined {
  const entries = HOOKS.flatMap((name) => {
    const value = given(hooks?.[name]);
    if (value === undefined) return [];
    const form: Exclude<typeof value, string> = typeof value === 'string' ? { run: value } : value;
    if (!form.run) {
      report.missing(['hooks', name, 'run'], 'such as run: ./save.sh');
      return [];
    }
    const most = name === 'preemption' ? graceSeconds : MOST_SECONDS;
    const seconds = timeoutOf(name, form.timeout, most, report);
    const hosts = form.workers ?? (name === 'preemption' ? 'all' : 'first');
    return [[name, { run: form.run, seconds, hosts: typeof hosts === 'number' ? [hosts] : hosts }] as const];
  });
  if (entries.length === 0) return undefined;
  if (!hasCommand) report.warnings.push('hooks: there is no command whose end they could follow');
  return hasCommand ? Object.fromEntries(entries) : undefined;
}

function timeoutOf(name: HookName, value: number | string | null | undefined, most: number, report: Report): number {
  const isPreemption = name === 'preemption';
  const usual = isPreemption ? Math.min(DEFAULT_PREEMPTION_SECONDS, most / 2) : DEFAULT_SECONDS;
  const seconds = secondsOf(given(value) ?? usual);
  if (!(seconds > 0) || (isPreemption ? seconds >= most && most > 0 : seconds > most)) {
    const range = isPreemption ? `shorter than grace (${most} s), which the command shares` : 'of 1h at most';
    report.wrong(['hooks', name, 'timeout'], value ?? seconds, 'no time for this hook', `a time ${range}`);
  }
  return seconds;
}

/** The hooks of a job that ended with this result, in order. */
export function hooksAfter(result: 'succeeded' | 'failed' | 'cancelled', hooks: HookSpecs = {}): readonly EndHook[] {
  const own = { succeeded: ['success'], failed: ['failure'], cancelled: [] } as const;
  return ([...own[result], 'finally'] as const).filter((name) => hooks[name] !== undefined);
}

export const hookText = ({ hook, status, message }: HookReport): string =>
  `${hook} ${status.replace('-', ' ')}${message === undefined ? '' : `: ${message}`}`;
