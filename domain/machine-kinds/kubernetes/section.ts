import { given } from '../../job-file/fields.js';
import type { Report } from '../../job-file/report.js';
import type { RequestContext, ResolvedRequest } from '../kind.js';
import { definedOnly, quantity, resolveGpus, resolvePodFields } from './pod-fields.js';
import { slicePodsType } from './size.js';
import type { KubernetesForm } from './section-form.js';
import { resolveGkeTpu, tpuTypeOf } from './tpu.js';
import type { KubernetesRequest, KubernetesSection } from './words.js';

/** The `kubernetes` section with its defaults, or undefined if its image or machines are not known, which is reported. */
export function resolveKubernetes(
  form: KubernetesForm,
  _context: RequestContext,
  report: Report,
): ResolvedRequest<KubernetesSection> | undefined {
  const place = { section: 'kubernetes', report };
  const fields = resolvePodFields(form, place);
  const tpu = given(form.tpu) === undefined ? undefined : resolveGkeTpu(form.tpu, report);
  const gpus = resolveGpus(form, place);
  if (gpus !== undefined && tpu !== undefined)
    report.problem(['kubernetes', 'gpus'], form.gpus, 'gpus and tpu are both given', 'a pod has one or the other');
  const request: KubernetesRequest = {
    ...fields,
    ...definedOnly({
      gpus,
      cpus: quantity(form.cpus, ['cpus'], place),
      memory: quantity(form.memory, ['memory'], place),
      tpu,
    }),
    workers: resolveWorkers(form, tpu, report),
  };
  if (fields.image === '' || (given(form.tpu) !== undefined && tpu === undefined)) return undefined;
  return {
    request: { kubernetes: request },
    slice: { type: slicePodsType(request), hosts: request.workers },
    leftToPool: [],
  };
}

function resolveWorkers({ workers }: KubernetesForm, tpu: KubernetesRequest['tpu'], report: Report): number {
  if (tpu === undefined) return given(workers) ?? 1;
  const { hosts } = tpuTypeOf(tpu);
  if (given(workers) !== undefined && workers !== hosts) {
    const hint = `write workers: ${hosts}, or leave it out; several slices are slices: n`;
    report.problem(
      ['kubernetes', 'workers'],
      workers,
      `${workers} is not the ${hosts} hosts of ${tpu.type}, one pod each`,
      hint,
    );
  }
  return hosts;
}
