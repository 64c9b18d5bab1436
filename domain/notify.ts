import { z } from 'zod';
import { TOPIC_WORDS } from './job-events/topics.js';
import { section, text, texts } from './job-file/fields.js';

/** One rule of a job's `notify`: the target is told of events of these topics (domain/job-events/topics.ts). */
export interface NotifyRule {
  /** One or more, each once. */
  readonly on: readonly string[];
  readonly to: NotifyTarget;
}

export type NotifyTarget = WorkflowTarget | OutsideTarget;

/** A workflow of the job's namespace (whichever run of the id is open), and the signal that it gets. */
export interface WorkflowTarget {
  readonly workflow: { readonly id: string; readonly signal: string };
}

/** Targets outside of Temporal, to which a worker delivers (docs/adr/0148). Secrets are names in the secret store. */
export type OutsideTarget =
  /** `secret`: the signing key. */
  | { readonly webhook: string; readonly secret: string }
  /** `secret`: the address of an incoming webhook. */
  | { readonly slack: { readonly secret: string } }
  | { readonly mail: readonly string[] }
  /** A channel of the installation's operator. */
  | { readonly channel: string };

export const TARGET_WORDS = ['workflow', 'webhook', 'slack', 'mail', 'channel'] as const;
export type TargetWord = (typeof TARGET_WORDS)[number];

export const isWorkflowTarget = (target: NotifyTarget): target is WorkflowTarget => 'workflow' in target;

/** Two targets are the same if their keys are equal. */
export const targetKey = (target: NotifyTarget): string => JSON.stringify(target);

/** A target in a sentence. A webhook's path and query may hold a token, so only its host is shown. */
export function targetText(target: NotifyTarget): string {
  if ('workflow' in target) return `workflow ${target.workflow.id} (signal ${target.workflow.signal})`;
  if ('webhook' in target) return `webhook ${originOf(target.webhook)}`;
  if ('slack' in target) return `the Slack hook in secret ${target.slack.secret}`;
  if ('mail' in target) return `mail ${target.mail.join(', ')}`;
  return `channel ${target.channel}`;
}

const originOf = (url: string): string => url.split(/[/?#]/, 3).join('/');

/** The form of a target in a job file. All keys are optional, so that one wrong key hides no other problem. */
export const notifyForm = () => {
  const rule = section({
    // The list is for editors and exports: a wrong word has an error of its own, which knows the nearest.
    on: z
      .array(text().meta({ enum: [...TOPIC_WORDS] }), { error: 'a list of texts' })
      .nullish()
      .describe('Topics or kinds of events (docs/notify.md); [ended] without it.'),
    to: section({
      workflow: section({
        id: text().nullish().describe('Id of the workflow that is told, in the namespace of the job.'),
        signal: text().nullish().describe('The signal it gets, with one argument: the notice (docs/contract.md).'),
      }).nullish(),
      webhook: text().nullish().describe('An https URL to which events are posted, signed.'),
      secret: text().nullish().describe('With webhook: the name of its signing key in the secret store.'),
      slack: section({
        secret: text().nullish().describe("The name of the secret that holds the incoming webhook's URL."),
      }).nullish(),
      mail: texts().nullish().describe('Addresses that get a mail.'),
      channel: text().nullish().describe('A channel that the operator of the worker has defined.'),
    }).nullish(),
  });
  return z.union([rule, z.array(rule)], { error: 'a section {on, to} or a list of such' });
};
