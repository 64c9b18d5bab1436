import { type Choice, choiceIf } from '../choices.js';
import { POD_SECTIONS } from '../job-file/machine-request.js';
import { resolveJob } from '../job-file/resolve.js';
import type { JobSpec } from '../job-spec.js';
import { podsPlace, secretPlace } from '../machine-kinds/kubernetes/choices.js';
import { podsOf, remoteBuildOf } from './remote.js';

/**
 * The choices of a job whose image a cluster builds. The build's namespace is a choice of pods, even if the job has none, and the
 * build's Secrets log in there. @param spec with its machines as the pool completes them
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
