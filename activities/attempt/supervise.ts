import { log } from '@temporalio/activity';
import { messageOf } from '../../domain/error-words.js';
import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import { leftReport } from '../../domain/left-processes.js';
import { rayOf } from '../../domain/modules/command.js';
import { evidenceOf } from '../../domain/recovery/evidence.js';
import { begin, next } from '../../domain/recovery/supervision.js';
import type { Effect, News, Over } from '../../domain/recovery/supervision-state.js';
import { connectingKey } from '../connecting-key.js';
import type { ActivityDependencies } from '../dependencies.js';
import { ofJob } from '../job-secrets.js';
import { ActivityEnd } from './activity-end.js';
import { HostCaller, runIdOf } from './attempt-hosts.js';
import { DeadHostWatch } from './dead-host-watch.js';
import { HostRuns } from './host-runs.js';
import { HostWarnings } from './host-warnings.js';
import { MessageQueue } from './message-queue.js';
import { outputsAfter } from './outputs.js';
import { pause } from './pause.js';
import type { Routes } from './routes.js';
import { SliceGuard } from './slice-guard.js';
import { unreachableHosts } from './unreachable-hosts.js';
import { watchedHosts } from './watched-hosts.js';

/** `warning`: the provider's warning of this slice has changed, or the slice was first seen. */
type Message = News | { readonly of: 'warning'; readonly slice: number };

/**
 * Starts the command on every host that runs it, or attaches to it if it was started, ships its output, and ends with the
 * attempt. The on-host runner does the start, only once however often this is repeated. All that happens comes as news, one after
 * the other, and domain/recovery/supervision.ts says what to do about it.
 */
export async function superviseAttempt(
  dependencies: ActivityDependencies,
  input: AttemptInput,
  routes: Routes,
): Promise<AttemptEnd> {
  const key = await connectingKey(ofJob(dependencies.installation, input.settings), input);
  const end = new ActivityEnd();
  const { signal } = end;
  const news = new MessageQueue<Message>();
  const guard = new SliceGuard(dependencies.machinesOf, input.slices, input.settings.timings.notFoundApartMs, signal, {
    loss: (slice) => news.put({ of: 'loss', slice }),
    warning: (slice) => news.put({ of: 'warning', slice }),
  });
  const unreachable = unreachableHosts(input);
  const callerUntil = (until: AbortSignal): HostCaller =>
    new HostCaller(dependencies.hosts, key, until, guard, unreachable);
  const warnings = new HostWarnings(runIdOf(input), callerUntil(signal), guard, signal);
  const runs = new HostRuns(dependencies, input, { callerUntil, guard, warnings, news, signal });
  const hosts = watchedHosts(input, (target) => dependencies.hosts.connect(target, key, signal), unreachable);
  const watch = new DeadHostWatch({ ...dependencies, routes, guard, unreachable, hosts, input, signal });
  watch.run().catch((error: unknown) => {
    log.error(`hosts are no longer watched: ${messageOf(error)}`);
  });
  end.handedOver.then(() => news.put({ of: 'handed over' }), news.fail);
  pause(input.settings.timings.superviseMs, signal).then(() => news.put({ of: 'time is up' }), news.fail);
  let result: AttemptEnd | undefined;
  try {
    const over = await untilOver(input, news, { runs, warnings, signal });
    result = over.end;
    const outputs = await outputsAfter(result, { ...dependencies, input, caller: callerUntil, guard, end });
    if (outputs === 'handed over') result = { kind: 'handed-over' };
    return { ...withEvidence(result, input, over, guard), ...(typeof outputs === 'object' && { outputs }) };
  } finally {
    await runs.shipRest();
    if (result !== undefined) await runs.sayWhatIsLost(result);
    end.finish();
  }
}

interface Hands {
  readonly runs: HostRuns;
  readonly warnings: HostWarnings;
  readonly signal: AbortSignal;
}

async function untilOver(input: AttemptInput, news: MessageQueue<Message>, hands: Hands): Promise<Over> {
  const hosts = hands.runs.start();
  const { command } = input.spec;
  let state = begin({ hosts, isLed: rayOf(input.spec) !== undefined, success: command?.success ?? 'all' });
  while (state.step.at !== 'over') {
    const message = await news.take();
    if (message.of === 'warning') {
      hands.warnings.changed(message.slice);
      continue;
    }
    const { state: after, effects } = next(state, message);
    for (const effect of effects) act(effect, hands).then((answer) => answer && news.put(answer), news.fail);
    state = after;
  }
  return state.step;
}

async function act(effect: Effect, { runs, signal }: Hands): Promise<News | undefined> {
  switch (effect.do) {
    case 'stop':
      log.info(`stopping the hosts: ${effect.reason}`);
      await runs.stops.where(() => true, effect.reason);
      return { of: 'stopped' };
    case 'tell gang':
      log.info(`the hosts of slice ${effect.of.slice} shut down: waiting for what they save`);
      runs.stops.tellGangOf(effect.of);
      return undefined;
    case 'tell left':
      runs.stops.tellLeft(effect.slices);
      return undefined;
    case 'wait':
      await pause(effect.ms, signal);
      return { of: 'wait over', step: effect.step };
    case 'read stored ends':
      return { of: 'stored ends', ends: await runs.storedEnds(effect.hosts) };
    case 'look at slices':
      return { of: 'look', isLost: await runs.lookAtSlices(effect) };
    case 'store stacks':
      return { of: 'stacks', hosts: await runs.storeStacks() };
    case 'end rest':
      await runs.stops.endWithout(effect.slices);
      return { of: 'rest ended' };
  }
}

/** Adds the evidence to an end that hosts or slices decided. */
function withEvidence(end: AttemptEnd, { spec }: AttemptInput, { decidedBy }: Over, guard: SliceGuard): AttemptEnd {
  if (decidedBy === undefined || end.kind === 'handed-over' || end.kind === 'still-running') return end;
  const left = leftReport(
    decidedBy.ends.filter((each) => each.kind === 'done'),
    spec.slices,
  );
  return {
    ...end,
    ...(end.kind === 'exited' && left && { left }),
    evidence: evidenceOf({ ...decidedBy, ...guard.evidence }),
  };
}
