import { log } from '@temporalio/activity';
import { type HostTarget, HostUnfit, wayOf } from '../../cloud/hosts/port.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import { setUpProgressSignal } from '../../contract/job.js';
import { CONNECT } from '../../domain/set-up-record.js';
import { setUpAgainObject, setUpObject, hostKeyObject } from '../../domain/store-layout.js';
import type { AttemptInput, SetUpAgainInput, SetUpEnd } from '../../contract/job-activities.js';
import type { StorePort } from '../../cloud/store/port.js';
import { numberingOf } from '../../domain/slice.js';
import { connectingKey } from '../connecting-key.js';
import { ofJob } from '../secret-values.js';
import type { ActivityDependencies } from '../dependencies.js';
import { submittersKeys } from '../set-up-inputs.js';
import { modulePlans } from '../module-plans.js';
import { followsOf } from './followed-jobs.js';
import { ActivityEnd, jobTeller } from './activity-end.js';
import { type AttemptHost, HostCaller, hostsOf, placeOf } from './attempt-hosts.js';
import { logLimitOf } from './log-stream.js';
import { HostSilent, Patience, unreachableHosts } from './unreachable-hosts.js';
import { HostSetUp, Misnumbered } from './set-up-host.js';
import { Inputs } from './inputs.js';
import { Restore } from './restore.js';
import { SetUpJournal, type SetUpNews } from './set-up-journal.js';
import { SliceGuard } from './slice-guard.js';
import { readPatiently, StorePatience, tellJobOfTrouble } from './store-patience.js';
import { submittedFiles } from './submitted-files.js';

/**
 * Makes every module ready on every host, all hosts at once; none waits for another. One activity per attempt: a host's retries
 * are no events. The first host that fails for good ends it.
 * @param asked ends it early, as a shutdown of the worker does
 */
export async function setUpHosts(
  dependencies: ActivityDependencies,
  input: AttemptInput & Partial<Pick<SetUpAgainInput, 'again'>>,
  asked: AbortSignal,
): Promise<SetUpEnd> {
  const { store, machinesOf } = dependencies;
  const installation = ofJob(dependencies.installation, input.settings);
  const keys = await submittersKeys(installation, input.spec, input.identityKeys);
  const files = await readPatiently(input, () => submittedFiles(store, input.files));
  const all = modulePlans(input.spec, { files, keys });
  const plans = input.again === undefined ? all : plansAgain(all, input.again);
  const key = await connectingKey(installation, input);
  const end = new ActivityEnd(asked);
  const guard = new SliceGuard(machinesOf, input.slices, input.settings.timings.notFoundApartMs, end.signal);
  const patience = new Patience();
  const unreachable = input.again === undefined ? unreachableHosts(input, BOOT_MS) : undefined;
  const caller = new HostCaller(dependencies.hosts, key, end.signal, guard, {
    silent: (target) => {
      unreachable?.silent(target);
      patience.silent(target, Date.now());
    },
    answered: (target) => unreachable?.answered(target),
  });
  const restore = input.again === undefined ? Restore.of(store, input) : undefined;
  const inputs = input.again === undefined ? Inputs.of(store, input) : undefined;
  const stored = [inputs, restore].filter((files) => files !== undefined);
  const journal = await SetUpJournal.open({
    store,
    input,
    object: (input.again === undefined ? setUpObject : setUpAgainObject)(input.job.id, input.attempt),
    modules: [...plans.map(({ name }) => name), ...stored.map(({ module }) => module)],
    tell: tellWorkflow(input),
  });
  const shipping = {
    ...{ ...dependencies, patience: new StorePatience(end.signal, tellJobOfTrouble(input)) },
    ...logLimitOf(input, hostsOf(input).length),
    isFollowed: followsOf(store, input.job.id),
  };
  const isMisnumbered =
    input.again === undefined ? (target: HostTarget) => saysAnother(caller, input, target) : undefined;
  const context = {
    ...(isMisnumbered && { isMisnumbered }),
    shipping,
    input,
    caller,
    plans,
    journal,
    patience,
    files: stored,
    signal: end.signal,
  };
  let renumbered: Promise<SetUpEnd> | undefined;
  const renumber = (): Promise<SetUpEnd> => (renumbered ??= numberHosts(caller, store, input));
  const work = hostsOf(input).map((host) => setUpHost(new HostSetUp(context, host), host, renumber));
  let ended: SetUpEnd | undefined;
  try {
    ended = await Promise.race([
      firstFailure(work),
      guard.lost.then((slices): SetUpEnd => ({ kind: 'slices-lost', slices })),
      // The code that asked for the end may need the slow hosts. Another worker sees them for itself.
      end.handedOver.then((): SetUpEnd =>
        asked.aborted ? { kind: 'handed-over', unready: journal.unready() } : { kind: 'handed-over' },
      ),
    ]);
    const restored = restore?.text ?? '';
    if (ended.kind === 'ready' && restored !== '') ended = { ...ended, restored };
    return ended;
  } finally {
    end.windDown();
    await Promise.allSettled(work);
    await journal.close(ended === undefined ? 'taken' : ended.kind === 'handed-over' ? 'handed-over' : 'ended');
    end.finish();
  }
}

/** Time in which a new VM may start before its silence counts. */
const BOOT_MS = 60_000;

/** The modules that are wanted. If forced, their checks fail, so that their steps are done. */
function plansAgain(all: readonly ModulePlan[], { modules, isForced }: SetUpAgainInput['again']): ModulePlan[] {
  const wanted = all.filter(({ name }) => modules.includes(name));
  return isForced ? wanted.map((plan) => ({ ...plan, check: 'false' })) : wanted;
}

function setUpHost(setUp: HostSetUp, { target }: AttemptHost, renumber: () => Promise<SetUpEnd>): Promise<SetUpEnd> {
  return setUp.run().catch((error: unknown): SetUpEnd | Promise<SetUpEnd> => {
    if (error instanceof Misnumbered) return renumber();
    const at = placeOf(target);
    // Every host of this job is made the same way.
    if (error instanceof HostUnfit) return { kind: 'module-failed', at, module: CONNECT, message: error.message };
    if (!(error instanceof HostSilent)) throw error;
    return { kind: 'host-bad', at, module: CONNECT, message: error.message };
  });
}

/** Resolves with `ready` when all hosts are ready, or as soon as one ends otherwise, with its end. */
function firstFailure(work: readonly Promise<SetUpEnd>[]): Promise<SetUpEnd> {
  return new Promise((resolve, reject) => {
    for (const host of work) host.then((end) => end.kind !== 'ready' && resolve(end), reject);
    Promise.all(work).then(() => resolve({ kind: 'ready' }), reject);
  });
}

function tellWorkflow(input: AttemptInput): (news: SetUpNews) => void {
  const tell = jobTeller(input, setUpProgressSignal, 'how far its set-up is');
  return (news) => tell({ v: 1, attempt: input.attempt, ...news });
}

/** Whether a host reports another worker number than its place in the provider's list (docs/adr/0047). */
async function saysAnother(caller: HostCaller, input: AttemptInput, target: HostTarget): Promise<boolean> {
  if (!wayOf(target).mayBeRenumbered) return false;
  const slice = input.slices.find(({ index }) => index === target.slice);
  if (slice === undefined || slice.hosts.length === 1) return false;
  const said = await caller.on(target, (connection) => connection.workerNumber());
  if (said === undefined || said === target.index) return false;
  log.warn(`host ${target.index} of slice ${target.slice} says that it is worker ${said}`);
  return true;
}

/** Asks all hosts for their worker number, once one of them has another number than expected. */
async function numberHosts(
  caller: HostCaller,
  store: Pick<StorePort, 'remove'>,
  input: AttemptInput,
): Promise<SetUpEnd> {
  const all = hostsOf(input);
  const renumbered = await Promise.all(
    input.slices.map(async ({ index, uid, hosts }) => {
      const targets = all.map(({ target }) => target).filter(({ slice }) => slice === index);
      const said = await Promise.all(
        targets.map((target) => caller.on(target, (connection) => connection.workerNumber())),
      );
      const numbering = numberingOf(hosts, said);
      // The hosts' keys are recorded by number.
      if (numbering.kind === 'renumbered')
        await Promise.all(hosts.map((host) => store.remove(hostKeyObject(uid, host.index))));
      return { index, numbering };
    }),
  );
  for (const { index, numbering } of renumbered)
    if (numbering.kind === 'contradictory')
      return { kind: 'host-bad', at: { slice: index, host: 0 }, module: 'connect', message: numbering.message };
  const slices = renumbered.flatMap(({ index, numbering }) =>
    numbering.kind === 'renumbered' ? [{ index, hosts: numbering.hosts }] : [],
  );
  return { kind: 'renumbered', slices };
}
