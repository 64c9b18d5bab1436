import { ALL_MODULES } from '../modules/registry.js';
import { given } from './fields.js';
import type { Report } from './report.js';
import type { JobFile } from './sections.js';

/** Refuses the parts of a job file that pods cannot provide: some modules, and a login user. */
export function refuseForPods(form: JobFile, report: Report): void {
  const named = form.setup?.modules ?? [];
  for (const { name, notInPods } of ALL_MODULES) {
    if (notInPods === undefined) continue;
    const { message, hint } = notInPods;
    const section = given((form as Readonly<Record<string, unknown>>)[name]);
    if (section !== undefined) report.problem([name], section, `the module ${message}`, hint);
    else if (named.includes(name)) {
      report.problem(['setup', 'modules', named.indexOf(name)], name, `the module ${message}`, hint);
    }
  }
  refuseSecondRay(form, report);
  const user = given(form.job?.remote_user);
  if (user === undefined) return;
  const hint = 'leave it out: commands run as the user of the image, or of a security context of its own';
  report.problem(['job', 'remote_user'], user, 'is for VMs: nobody logs in to a pod', hint);
}

/** Refuses the module ray beside ray_cluster: KubeRay starts Ray, and the module would start another. */
function refuseSecondRay(form: JobFile, report: Report): void {
  const module = given(form.ray);
  if (given(form.ray_cluster) === undefined || module === undefined) return;
  const hint = 'leave ray out: RAY_ADDRESS is set for the command';
  report.problem(['ray'], module, 'the hosts of ray_cluster run Ray already', hint);
}
