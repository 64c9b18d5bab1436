import { canEverFit } from './decision/can-ever-fit.js';
import type { Ask } from './decision/can-ever-fit.js';
import { resolveProject } from './membership.js';
import type { QuotaConfig } from './quota-config.js';

/** A job that is submitted, as its pool sees it. */
export interface Submission {
  readonly user: string;
  /** As its file names it. */
  readonly project?: string | undefined;
  /** With the zones that its pool gives where it names none. */
  readonly ask: Ask;
  /** Such as `2 x v4-8`, for the message. */
  readonly shown: string;
}

export type SubmissionVerdict =
  | { readonly ok: true; /** As the quota file writes it. */ readonly project: string }
  | { readonly ok: false; readonly message: string };

/**
 * Whether the pool takes the job to wait: its project, and a demand that can ever start (rule 9). What is wrong later, by a
 * smaller pool or another membership, is no refusal: `why` says it.
 */
export function judgeSubmission(config: QuotaConfig, { user, project, ask, shown }: Submission): SubmissionVerdict {
  const choice = resolveProject(config, user, project);
  const hint = !choice.ok && choice.hint !== undefined ? `\n${choice.hint.replaceAll(/^/gm, '  ')}` : '';
  if (!choice.ok) return { ok: false, message: `${choice.message}${hint}` };
  const fit = canEverFit(config, ask);
  if (!fit.fits) return { ok: false, message: `tpu.accelerator: ${shown} ${fit.message}` };
  return choice;
}
