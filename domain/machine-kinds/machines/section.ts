import { given, textValues } from '../../job-file/fields.js';
import type { Report } from '../../job-file/report.js';
import type { RequestContext, ResolvedRequest } from '../kind.js';
import type { MachinesForm } from './section-form.js';
import type { MachinesRequest, MachinesSection } from './words.js';
import { machinesType } from './size.js';

/** A name that quota files can hold beside TPU generations. */
export const ACCELERATOR = /^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$/;
export const ACCELERATOR_RULE = 'small letters, digits and dashes, such as h100 or a100-80gb';

/** The `machines` section with its defaults. The pool decides later which machines there are. */
export function resolveMachines(
  form: MachinesForm,
  { poolName }: RequestContext,
  report: Report,
): ResolvedRequest<MachinesSection> | undefined {
  const hosts = given(form.hosts) ?? 1;
  const request: MachinesRequest = {
    pool: poolName,
    hosts,
    ...acceleratorOf(form, hosts, report),
    labels: textValues(form.labels),
  };
  return { request: { machines: request }, slice: { type: machinesType(request), hosts }, leftToPool: [] };
}

function acceleratorOf(form: MachinesForm, hosts: number, report: Report): Pick<MachinesRequest, 'accelerator'> {
  const type = given(form.accelerator);
  const count = given(form.count);
  if (type === undefined) {
    if (count !== undefined && !report.wasDropped(['machines', 'accelerator']))
      report.missing(['machines', 'accelerator'], 'count is of an accelerator, such as accelerator: h100');
    return {};
  }
  if (!ACCELERATOR.test(type))
    report.wrong(['machines', 'accelerator'], type, 'no type of accelerator', ACCELERATOR_RULE);
  if (count === undefined) {
    if (!report.wasDropped(['machines', 'count']))
      report.missing(['machines', 'count'], `how many ${type} the slice has on all its machines, such as count: 8`);
    return { accelerator: { type, perHost: 1 } };
  }
  if (count % hosts !== 0) {
    const hint = `machines of a slice are alike: a multiple of ${hosts}, or other hosts`;
    report.problem(['machines', 'count'], count, `cannot be shared out evenly among ${hosts} hosts`, hint);
  }
  return { accelerator: { type, perHost: Math.max(1, Math.floor(count / hosts)) } };
}
