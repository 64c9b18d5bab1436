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
