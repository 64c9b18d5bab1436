import { CancellationScope } from '@temporalio/workflow';
import { type EndHook, type HookReport, hooksAfter } from '../../domain/hooks.js';
import { JobPhase, type Outcome } from '../../domain/job-state.js';
import { hooking } from '../activity-options.js';
import { attemptInput, type AttemptParts } from './attempt.js';
import { reasonOf } from './claimed-worker.js';
import type { Slices } from './slices.js';
import type { JobStory } from './story.js';

export interface HookParts extends AttemptParts {
  readonly story: JobStory;
  readonly slices: Slices;
}

/**
 * Runs the job's end hooks, before its slices go (docs/adr/0048). A cancel does not end them; their timeouts do.
 * @returns the outcome, which no hook changes, with a report on each hook
 */
export async function afterHooks(parts: HookParts, outcome: Outcome): Promise<Outcome> {
  // In a job that was reset, the stored outcome has their reports.
  const names = outcome.hooks === undefined ? hooksAfter(outcome.result, parts.file.spec.hooks) : [];
  if (names.length === 0) return outcome;
  const hooks: HookReport[] = [];
  await CancellationScope.nonCancellable(async () => {
    for (const name of names) {
      const report = await runHook(parts, name, outcome);
      parts.story.note({ kind: 'hook-ended', facts: report });
      hooks.push(report);
    }
  });
  return { ...outcome, hooks };
}

async function runHook(parts: HookParts, hook: EndHook, outcome: Outcome): Promise<HookReport> {
  const { attempt, slices, story, file, settings } = parts;
  const seconds = file.spec.hooks?.[hook]?.seconds ?? 0;
  if (attempt.firstStartedAt === undefined) return { hook, status: 'not-run', message: 'the command never began' };
  if (slices.ready.length === 0) return { hook, status: 'not-run', message: 'the job has no slice any more' };
  story.move(JobPhase.Finishing, { kind: 'hook-started', facts: { result: outcome.result, hook, seconds } });
  const call = hooking(seconds * 1000, settings.timings.heartbeatTimeoutMs)(`run the hook ${hook}`);
  try {
    return await call.runHook({ ...attemptInput(parts, slices.ready), hook, outcome });
  } catch (error) {
    return { hook, status: 'unknown', message: `no worker saw its end: ${reasonOf(error)}` };
  }
}
