import { type Choice, choiceIf } from './choices.js';
import type { JobSpec } from './job-spec.js';
import { kindOfJob, machineKind } from './machines.js';
import { environmentOf } from './modules/registry.js';
import type { NotifyRule, NotifyTarget } from './notify.js';
import type { Path } from './problem.js';

/** All choices of a job that a pool may refuse, with their places in the job file. */
export function choicesOf(spec: JobSpec): readonly Choice[] {
  const environment = environmentOf(spec);
  const image = environment?.kind === 'container' ? environment.container.image : undefined;
  return [
    ...machineKind(kindOfJob(spec)).choices(spec),
    ...choiceIf('images', [environment?.module.name ?? '', 'image'], image),
    ...notifyChoices(spec.notify ?? []),
  ];
}

/** Choices of a job's `notify`. */
export const notifyChoices = (rules: readonly NotifyRule[]): readonly Choice[] =>
  rules.flatMap(({ to }, index) =>
    targetChoices(to).map(([path, value]): Choice => ({
      key: 'notify',
      path: ['notify', ...(rules.length === 1 ? [] : [index]), 'to', ...path],
      value,
    })),
  );

/** Places below `to`, and values in the form of `[allow] notify`. */
function targetChoices(to: NotifyTarget): readonly (readonly [Path, string])[] {
  if ('workflow' in to) return [[['workflow', 'id'], to.workflow.id]];
  if ('webhook' in to) return [[['webhook'], to.webhook]];
  if ('slack' in to) return [[['slack', 'secret'], `slack:${to.slack.secret}`]];
  if ('channel' in to) return [[['channel'], `channel:${to.channel}`]];
  return to.mail.map((address, index) => [['mail', index], `mailto:${address}`]);
}
