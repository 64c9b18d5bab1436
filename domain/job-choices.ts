import { type Choice, choiceIf } from './choices.js';
import type { JobSpec } from './job-spec.js';
import { kindOfJob, machineKind } from './machines.js';
import { environmentOf } from './modules/registry.js';
import type { NotifyRule, NotifyTarget } from './notify.js';
import type { Path } from './problem.js';
import { POD_SECTIONS } from './job-file/sections.js';
import { resolveJob } from './job-file/resolve.js';
import { podsPlace, secretPlace } from './machine-kinds/kubernetes/plan.js';
import { podsOf, remoteBuildOf } from './build/spec.js';

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

/** Paths below `to`, each with its value in the form of `[allow] notify`. */
function targetChoices(to: NotifyTarget): readonly (readonly [Path, string])[] {
  if ('workflow' in to) return [[['workflow', 'id'], to.workflow.id]];
  if ('webhook' in to) return [[['webhook'], to.webhook]];
  if ('slack' in to) return [[['slack', 'secret'], `slack:${to.slack.secret}`]];
  if ('channel' in to) return [[['channel'], `channel:${to.channel}`]];
  return to.mail.map((address, index) => [['mail', index], `mailto:${address}`]);
}

/**
 * The choices of a job whose image a cluster builds. The build's namespace counts as a place of pods, even if the job has no
 * pods. The build's Secrets are in that namespace.
 * @param spec with its machines as the pool completes them
 */
export function buildChoices(job: unknown, spec: JobSpec): readonly Choice[] {
  const resolved = resolveJob(job);
  const build = resolved.ok && resolved.build && remoteBuildOf(resolved.build, podsOf(spec, POD_SECTIONS));
  if (!build) return [];
  const { cluster, namespace, image, gitSecret, pushSecret } = build;
  const place = { ...(cluster === undefined ? {} : { context: cluster }), namespace };
  const secret = (name: string | undefined): string | undefined => name && secretPlace(place, name);
  return [
    { key: 'machines', path: ['build', 'namespace'], value: podsPlace('kubernetes', place) },
    { key: 'images', path: ['build', 'image'], value: image },
    ...choiceIf('secrets', ['build', 'git_secret'], secret(gitSecret)),
    ...choiceIf('secrets', ['build', 'push_secret'], secret(pushSecret)),
  ];
}
