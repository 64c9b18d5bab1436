import { setTimeout as pause } from 'node:timers/promises';
import { inItsTurn } from '../contract/early-query.js';
import { Context, log } from '@temporalio/activity';
import { ApplicationFailure, WorkflowIdConflictPolicy, WorkflowIdReusePolicy } from '@temporalio/common';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { messageOf, FailureType } from '../domain/errors.js';
import type { Builds, OwnedBuild } from '../cloud/builds/port.js';
import {
  type BuildActivities,
  type BuildResult,
  type BuildTry,
  type BuildWaiter,
  buildNewsSignal,
  buildWaitersQuery,
  buildWantedSignal,
  type JoinBuildInput,
  type JoinedBuild,
} from '../contract/build.js';
import { buildWorkflowId, WorkflowType } from '../contract/workflow-ids.js';
import { buildText } from '../domain/build/spec.js';
import { awaitBuild, type BuildAudience, deleteBuild, lookAtBuild } from './await-build.js';
import type { ActivityDependencies } from './dependencies.js';
import { translated } from './failures.js';

type Outside = Pick<ActivityDependencies, 'builds' | 'store' | 'meter' | 'installation'>;

export function buildActivities({ builds, store, meter, installation }: Outside): BuildActivities {
  const owned = (of: BuildTry): OwnedBuild => ownedBuild(builds, of, installation.owner);
  return {
    joinBuild: (input) => translated(() => join({ builds, installation }, input)),
    createBuild: (input) => translated(() => builds.create(owned(input))),
    findBuild: (input) => findBuild(builds, owned(input)),
    awaitBuild: (input) => {
      const of = { ...input, owned: owned(input), audience: audienceOf(input.id) };
      return awaitBuild({ builds, shipping: { store, meter } }, of);
    },
    deleteBuild: (input) => deleteBuild(builds, owned(input), input),
  };
}

/**
 * Refuses a build whose workflow id does not belong to its inputs and to this installation, since anyone who reaches Temporal can
 * start a build workflow.
 */
function ownedBuild(builds: Builds, { id, build }: BuildTry, owner: string): OwnedBuild {
  const right = buildWorkflowId(builds.hashOf({ owner, build }));
  if (id === right) return { owner, build };
  const message = `${id}: these inputs are those of ${right}, in this installation`;
  throw ApplicationFailure.create({ type: FailureType.InvalidInput, nonRetryable: true, message });
}

/**
 * Starts the build, or joins it. A build that made its image stays the result for its inputs as long as Temporal keeps closed
 * workflows. A build that failed is begun anew.
 */
async function join(
  { builds, installation }: Pick<Outside, 'builds' | 'installation'>,
  { waiter, build }: JoinBuildInput,
): Promise<JoinedBuild> {
  const { owner, taskQueue, timings } = installation;
  const { client: temporal } = Context.current();
  const id = buildWorkflowId(builds.hashOf({ owner, build }));
  try {
    await temporal.workflow.signalWithStart(WorkflowType.Build, {
      workflowId: id,
      taskQueue,
      args: [{ v: 1, build, timings }],
      signal: buildWantedSignal,
      signalArgs: [{ v: 1, waiter }],
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
      staticSummary: buildText(build),
    });
    return { kind: 'waiting', id };
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    const { digest } = (await temporal.workflow.getHandle(id).result()) as BuildResult;
    return { kind: 'built', id, digest };
  }
}

async function findBuild(builds: Builds, owned: OwnedBuild): ReturnType<BuildActivities['findBuild']> {
  const seen = await lookAtBuild(builds, owned);
  if (typeof seen === 'string') return 'unknown';
  if (seen.kind === 'foreign') return 'foreign';
  return seen.kind === 'missing' || seen.kind === 'deleting' ? 'missing' : 'there';
}

/** The jobs that wait, as the workflow knows them, and a way to tell them. */
function audienceOf(id: string): BuildAudience {
  const { client } = Context.current();
  let known: readonly BuildWaiter[] = [];
  return {
    waiters: async () => {
      try {
        known = await inItsTurn(() => client.workflow.getHandle(id).query(buildWaitersQuery), pause);
      } catch (error) {
        log.warn(`asking who waits for ${id}: ${messageOf(error)}`);
      }
      return known;
    },
    tell: (detail) => {
      for (const { id: job, run } of known) {
        const news = { v: 1, build: id, run, news: { kind: 'progress', detail } } as const;
        const handle = client.workflow.getHandle(job, undefined, { firstExecutionRunId: run });
        handle
          .signal(buildNewsSignal, news)
          .catch((error: unknown) => void log.warn(`${job} was not told: ${messageOf(error)}`));
      }
    },
  };
}
