import { given, secondsOf } from '../../job-file/fields.js';
import type { Report } from '../../job-file/report.js';
import type { RequestContext, ResolvedRequest } from '../kind.js';
import type { Place } from '../kubernetes/mounts.js';
import { definedOnly, quantity, resolveGpus, resolvePodFields } from '../kubernetes/pod-fields.js';
import type { RayClusterForm } from './section-form.js';
import { clusterType } from './size.js';
import type { RayClusterRequest, RayClusterSection, WorkerGroup } from './words.js';

/** KubeRay's own default. */
const DEFAULT_IDLE_SECONDS = 60;
/** The first version with token authentication (docs.ray.io, "Ray token authentication", read 2026-11-23). */
const OLDEST_RAY = [2, 52, 0] as const;

/** The `ray_cluster` section with its defaults, or undefined if its image or workers are not known, which is reported. */
export function resolveRayCluster(
  form: RayClusterForm,
  _context: RequestContext,
  report: Report,
): ResolvedRequest<RayClusterSection> | undefined {
  const place = { section: 'ray_cluster', report };
  const fields = resolvePodFields(form, place);
  const workers = resolveWorkers(form.workers, place);
  const { head } = form;
  const request = {
    ...fields,
    rayVersion: resolveVersion(form.ray_version, place),
    ...(form.dashboard === false && { dashboard: false as const }),
    head: definedOnly({
      cpus: quantity(head?.cpus, ['head', 'cpus'], place),
      memory: quantity(head?.memory, ['head', 'memory'], place),
    }),
  };
  if (fields.image === '' || workers === undefined) return undefined;
  const whole: RayClusterRequest = { ...request, workers };
  return { request: { ray_cluster: whole }, slice: { type: clusterType(whole), hosts: 1 }, leftToPool: [] };
}

function resolveWorkers(form: RayClusterForm['workers'], place: Place): WorkerGroup | undefined {
  const { section, report } = place;
  const at = [section, 'workers'];
  const max = given(form?.max);
  if (max === undefined) {
    if (!report.wasDropped(at) && !report.wasDropped([...at, 'max']))
      report.missing([...at, 'max'], 'such as workers: {min: 1, max: 8}; quota counts max');
    return undefined;
  }
  const min = given(form?.min) ?? 1;
  if (min > max) report.wrong([...at, 'min'], min, `more than max, which is ${max}`, 'min: 0 to max');
  const idleSeconds = Math.ceil(secondsOf(given(form?.idle_timeout) ?? DEFAULT_IDLE_SECONDS));
  if (idleSeconds < 1) report.wrong([...at, 'idle_timeout'], form?.idle_timeout, 'too short', '1s or more');
  return {
    ...{ min, max, idleSeconds },
    ...definedOnly({
      gpus: resolveGpus(form ?? {}, place, ['workers']),
      cpus: quantity(form?.cpus, ['workers', 'cpus'], place),
      memory: quantity(form?.memory, ['workers', 'memory'], place),
    }),
  };
}

function resolveVersion(value: RayClusterForm['ray_version'], { section, report }: Place): string {
  const path = [section, 'ray_version'];
  const version = given(value) === undefined ? undefined : String(value);
  if (version === undefined) {
    if (!report.wasDropped(path))
      report.missing(path, 'KubeRay has to know the version of Ray in the image, such as ray_version: 2.60.0');
    return '';
  }
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (!/^\d+\.\d+\.\d+$/.test(version))
    report.wrong(path, value, 'no version of Ray', 'all three numbers, such as 2.60.0');
  else if (major < OLDEST_RAY[0] || (major === OLDEST_RAY[0] && minor < OLDEST_RAY[1])) {
    const why = `Ray ${OLDEST_RAY.join('.')} is the first that asks for a token; before, whoever reaches its port runs code`;
    report.wrong(path, value, 'too old', why);
  }
  return version;
}
