import type { NotifyTarget } from '../job-spec.js';
import { resolveNotify } from './notify-section.js';
import { isMapping, valueAt } from './plain-tree.js';
import { Report } from './report.js';
import { jobFileSchema } from './sections.js';

/**
 * Whom a job that is refused asks to tell, as far as that can be read: nobody where its `notify` is wrong itself, or refers to
 * another value (`${..}`), which may be what is wrong.
 */
export function readableNotify(job: unknown): readonly NotifyTarget[] {
  if (!isMapping(job)) return [];
  const form = jobFileSchema().shape.notify.safeParse(valueAt(job, ['notify']));
  if (!form.success) return [];
  const report = new Report([]);
  const targets = resolveNotify(form.data, report);
  if (report.problems.length > 0) return [];
  return targets.filter(({ workflow: { id, signal } }) => !`${id} ${signal}`.includes('${'));
}
