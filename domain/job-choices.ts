import { type Choice, choiceIf } from './choices.js';
import type { JobSpec } from './job-spec.js';
import { kindOfJob, machineKind } from './machines.js';
import { environmentOf } from './modules/registry.js';

/** All choices of a job that a pool may refuse, with their places in the job file. */
export function choicesOf(spec: JobSpec): readonly Choice[] {
  const environment = environmentOf(spec);
  const image = environment?.kind === 'container' ? environment.container.image : undefined;
  return [
    ...machineKind(kindOfJob(spec)).choices(spec),
    ...choiceIf('images', [environment?.module.name ?? '', 'image'], image),
    ...(spec.notify ?? []).map(({ workflow: { id } }, index, { length }): Choice => ({
      key: 'notify',
      path: ['notify', ...(length === 1 ? [] : [index]), 'workflow', 'id'],
      value: id,
    })),
  ];
}
