import { usdText } from '../../../domain/units.js';
import { randomBytes } from 'node:crypto';
import { messageOf } from '../../../domain/errors.js';
import { GENERATION_FACTS } from '../../../domain/accelerators.js';
import { suffixFrom } from '../../../domain/identity.js';
import type { CloudTpuPlan } from '../../../domain/machine-kinds/cloud-tpu/words.js';
import { ask, mustBeAskable, nothingChanged } from '../../terminal/ask.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { priceBound, typeOf, WAIT_MINUTES } from '../../doctor/contract/bound.js';
import { ownIdentity, isAlive, type ProcessIdentity } from '../../place/stack/process-identity.js';
import { Signals, type Life, type LifeMeans, SliceLife } from '../../doctor/contract/slice-life.js';
import { type Environment, stackHome, type StackHome } from '../../terminal/home.js';
import { openGoogleProject } from '../../doctor/google.js';
import type { OutputFlag } from '../../terminal/options.js';
import { printErr, printOut } from '../../terminal/print.js';
import { openRecordedTpu, Recorder } from '../../doctor/recordings/recording.js';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { shellWords } from '../../../domain/shell-quote.js';
import { writePrivate } from '../../terminal/file-on-disk.js';

export interface ContractFlags extends OutputFlag {
  readonly gcp?: true;
  readonly spend?: number;
  readonly googleProject?: string;
  readonly zone?: string;
  readonly accelerator: string;
  readonly record?: string;
  readonly yes?: true;
  readonly tpuEndpoint?: string;
  /** Milliseconds that the run may take, like `every`. */
  readonly atMost: number;
  readonly every: number;
}

/** Records the life of one slice. Whatever happens, the slice is deleted, or the user is told what to delete. */
export async function contract(flags: ContractFlags, env: Environment = process.env): Promise<number> {
  const { spend, zone } = required(flags);
  const type = typeOf(flags.accelerator);
  const usd = priceBound(type, zone, spend);
  const home = stackHome(env);
  const left = leftoverOf(home);
  mustBeAskable(flags, 'jobctl contract spends money, and asks first', 'say --yes');
  const { googleProject } = (await openGoogleProject(flags, env)).port;
  tellPlan({ googleProject, zone, usd, type: type.type, left });
  if (flags.yes !== true && !(await ask(`Make one ${type.type} in ${zone} of project ${googleProject}? [y/N] `)))
    return nothingChanged();
  const folder = flags.record ?? `jobctl-contract-${new Date().toISOString().slice(0, 16).replace(/[:T]/g, '-')}`;
  const recorder = new Recorder(folder, 'jobctl contract');
  const runtime = GENERATION_FACTS[type.generation].defaultRuntime;
  const plan = planOf({ googleProject, zone, accelerator: type.type, runtime });
  const life = await recordLife(recorder, plan, { flags, env, left });
  return report(flags, { life, folder, recordings: recorder.write(googleProject), googleProject, zone });
}

interface Run {
  readonly flags: ContractFlags;
  readonly env: Environment;
  readonly left: Leftover | undefined;
}

async function recordLife(recorder: Recorder, plan: CloudTpuPlan, { flags, env, left }: Run): Promise<Life> {
  const home = stackHome(env);
  const tpu = await openRecordedTpu(recorder.hear, flags.tpuEndpoint ?? (env['JOBCTL_TPU_ENDPOINT'] || undefined));
  const means: LifeMeans = {
    api: tpu.api,
    everyMs: flags.every,
    about: (text) => recorder.about(text),
    save: () => void recorder.write(plan.ref.googleProject),
    tell: onceInARow((line) => printErr(`${line}\n`)),
  };
  const signals = new Signals(means.tell);
  const readers = withoutReaders();
  try {
    if (left !== undefined) await removeLeftover(means, left, home, signals.second);
    const time = signals.firstWithin(Math.min(flags.atMost, WAIT_MINUTES * 60_000));
    return await liveAndRemove(means, plan, home, { time, second: signals.second });
  } finally {
    signals.close();
    readers.close();
    await tpu.close();
  }
}

function required({ gcp, spend, zone }: ContractFlags): { readonly spend: number; readonly zone: string } {
  const missing = gcp !== true ? '--gcp' : spend === undefined ? '--spend USD' : '--zone ZONE';
  if (gcp === true && spend !== undefined && zone !== undefined) return { spend, zone };
  throw new CliError(
    ExitCode.Usage,
    `jobctl contract: ${missing} is missing`,
    'it makes a slice that costs money: name the cloud, the most that it may cost, and the zone',
    'such as: jobctl contract --gcp --spend 1 --zone us-central1-a',
  );
}

interface Told {
  readonly googleProject: string;
  readonly zone: string;
  readonly type: string;
  readonly usd: number;
  readonly left: Leftover | undefined;
}

function tellPlan({ googleProject, zone, type, usd, left }: Told): void {
  printErr(
    `REAL Cloud TPU, billed to project ${googleProject}: one spot ${type} in ${zone}, at most ${usdText(usd)}\n`,
  );
  if (left !== undefined)
    printErr(
      `First ${left.name} in ${left.zone} of project ${left.googleProject} is deleted, which a run of ${left.at} left\n`,
    );
}

interface Wanted {
  readonly googleProject: string;
  readonly zone: string;
  readonly accelerator: string;
  readonly runtime: string;
}

/** Plans the slice. Google itself drops the request if it waits longer than this run, in case no process is left to delete it. */
function planOf({ googleProject, zone, accelerator, runtime }: Wanted): CloudTpuPlan {
  const name = `jobctl-contract-${suffixFrom(randomBytes(8))}`;
  return {
    ref: { kind: 'cloud-tpu', googleProject, zone, name, mode: 'queued-resources' },
    ownership: { owner: name, job: 'contract', run: 'contract', generation: 1, spec: 'contract' },
    ...{ accelerator, runtimeVersion: runtime, pricing: 'spot', validUntilSeconds: WAIT_MINUTES * 60 },
    ...{ externalIps: false, tags: [], labels: {}, metadata: {} },
  };
}

async function liveAndRemove(
  means: LifeMeans,
  plan: CloudTpuPlan,
  home: { readonly root: string },
  { time, second }: { readonly time: AbortSignal; readonly second: AbortSignal },
): Promise<Life> {
  const { googleProject, zone, name } = plan.ref;
  const slice = { googleProject, zone, name };
  noteSlice(home, { ...slice, at: new Date().toISOString(), process: ownIdentity() });
  means.tell(`if this process is killed: ${deleteCommand(slice)}`);
  const one = new SliceLife(means, { ref: plan.ref, owner: plan.ownership.owner });
  try {
    return await one.live(plan, time);
  } finally {
    await removed(one, slice, home, second);
  }
}

async function removeLeftover(means: LifeMeans, left: Leftover, home: { readonly root: string }, second: AbortSignal) {
  const ref = { kind: 'cloud-tpu', mode: 'queued-resources', ...placeOf(left) } as const;
  await removed(new SliceLife(means, { ref, owner: left.name }), left, home, second);
}

const placeOf = ({ googleProject, zone, name }: Leftover) => ({ googleProject, zone, name });

/** @throws CliError with the slice to delete, if a second signal or an unforeseen error ended the deletion */
async function removed(
  one: SliceLife,
  slice: Omit<Leftover, 'at' | 'process'>,
  home: { readonly root: string },
  second: AbortSignal,
): Promise<void> {
  let why = '';
  const isGone = await one.remove(second).catch((error: unknown) => {
    why = `: ${messageOf(error)}`;
    return false;
  });
  if (isGone) return forgetSlice(home);
  throw new CliError(
    second.aborted ? ExitCode.Interrupted : ExitCode.Failed,
    `ended before ${slice.name} in ${slice.zone} was gone: it may still cost money${why}`,
    `delete it: ${deleteCommand(slice)}`,
    'or let jobctl do it: the next `jobctl contract` deletes it first',
  );
}

/** Ignores closed outputs, which end other verbs at their next line: this one continues until its slice is deleted. */
function withoutReaders(): { readonly close: () => void } {
  const streams = [process.stdout, process.stderr].map((stream) => ({ stream, before: stream.listeners('error') }));
  for (const { stream } of streams) stream.removeAllListeners('error').on('error', () => undefined);
  return {
    close: () => {
      for (const { stream, before } of streams) {
        stream.removeAllListeners('error');
        for (const listener of before) stream.on('error', listener as (error: Error) => void);
      }
    },
  };
}

function onceInARow(tell: (line: string) => void): (line: string) => void {
  let last = '';
  return (line) => {
    if (line !== last) tell(line);
    last = line;
  };
}

interface Result {
  readonly life: Life;
  readonly folder: string;
  readonly recordings: number;
  readonly googleProject: string;
  readonly zone: string;
}

const ENDS: Readonly<Record<Life['end'], string>> = {
  active: 'the slice was ACTIVE, and is gone',
  refused: 'Google refused the slice',
  over: 'the slice ended before it was ACTIVE, and is gone',
  time: 'the slice was not ACTIVE in time, and is gone',
};

function report({ output }: OutputFlag, { life, folder, recordings, googleProject, zone }: Result): number {
  const { end, states, why } = life;
  if (output === 'json')
    printOut(`${JSON.stringify({ googleProject, zone, end, states, why, recordings, folder }, null, 2)}\n`);
  else {
    printOut(`${ENDS[end]}${why === undefined ? '' : `: ${why}`}\n`);
    printOut(`${recordings} recordings in ${folder}; read them before you pass them on\n`);
  }
  return end === 'active' ? ExitCode.Done : ExitCode.Failed;
}

/** The slice that a `jobctl contract` is about to create. Written before its create call, removed once the slice is gone. */
interface Leftover {
  readonly googleProject: string;
  readonly zone: string;
  readonly name: string;
  /** UTC. */
  readonly at: string;
  readonly process: ProcessIdentity;
}

const fileIn = ({ root }: Pick<StackHome, 'root'>): string => join(root, 'contract-slice.json');

export const noteSlice = (home: Pick<StackHome, 'root'>, slice: Leftover): void =>
  writePrivate(fileIn(home), `${JSON.stringify(slice)}\n`);

const forgetSlice = (home: Pick<StackHome, 'root'>): void => rmSync(fileIn(home), { force: true });

/** The slice of a run that was cut short. @throws CliError while that run goes on, or if the file cannot be read */
export function leftoverOf(home: Pick<StackHome, 'root'>): Leftover | undefined {
  const found = readLeftover(fileIn(home));
  if (found === undefined || !isAlive(found.process)) return found;
  throw new CliError(
    ExitCode.Refused,
    `another jobctl contract runs: process ${found.process.pid}, slice ${found.name} in ${found.zone}`,
    'wait for its end; one runs at a time',
  );
}

function readLeftover(file: string): Leftover | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as Leftover;
  } catch {
    throw new CliError(
      ExitCode.Failed,
      `${file}: not what jobctl contract writes; it names a slice that may still be there`,
      "look for one whose name begins with 'jobctl-contract-': gcloud compute tpus queued-resources list --zone=-",
      `then remove the file: rm ${shellWords([file])}`,
    );
  }
}

/** The command with which a person deletes the slice. */
function deleteCommand({ googleProject, zone, name }: Omit<Leftover, 'at' | 'process'>): string {
  const words = ['gcloud', 'compute', 'tpus', 'queued-resources', 'delete', name];
  return shellWords([...words, `--zone=${zone}`, `--project=${googleProject}`, '--force', '--quiet']);
}
