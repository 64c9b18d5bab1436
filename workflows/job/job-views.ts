import { workflowInfo } from '@temporalio/workflow';
import type { JobView } from '../messages.js';
import type { Attempts } from './attempts.js';
import type { JobCarry } from './carry.js';
import type { JobFacts } from './details.js';
import type { Gang } from './gang.js';
import type { JobEnds } from './job-ends.js';
import type { JobStory } from './story.js';
import type { JobTerms } from './terms.js';

/** The parts of a job that somebody looks at. */
export interface ShownParts {
  readonly carried: JobCarry;
  readonly terms: JobTerms;
  readonly story: JobStory;
  readonly gang: Gang;
  readonly attempts: Attempts;
  readonly ends: JobEnds;
}

/** What the query `describe` answers. */
export function jobView({ carried, terms, story, gang, attempts, ends }: ShownParts): JobView {
  const { settings, submittedAt } = carried;
  return {
    id: workflowInfo().workflowId,
    spec: terms.spec,
    project: settings.project,
    ...(settings.label === undefined ? {} : { label: settings.label }),
    submittedAt,
    attempt: attempts.number,
    preemptions: ends.spent.preemption,
    ...ends.takenByQuota,
    slices: gang.views,
    login: { user: settings.loginUser, publicKey: settings.publicKey },
    ...story.view(),
  };
}

/** What Current Details are made from. */
export function jobFacts({ carried, terms, story, gang, attempts, ends }: ShownParts): JobFacts {
  return {
    id: workflowInfo().workflowId,
    spec: terms.spec,
    settings: carried.settings,
    attempt: attempts.number,
    spent: ends.spent,
    ...ends.takenByQuota,
    slices: gang.views,
    ...(story.setback === undefined ? {} : { setback: story.setback }),
    ...story.view(),
  };
}
