import { given, textValues, section, text, textMap, wholeNumber } from '../../job-file/fields.js';
import type { Report } from '../../job-file/report.js';
import type { RequestContext, ResolvedRequest } from '../kind.js';
import { type MachinesRequest, type MachinesSection, machinesType } from './words.js';
import type { z } from 'zod';

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
    report.problem(['machines', 'count'], count, `${count} cannot be shared out evenly among ${hosts} hosts`, hint);
  }
  return { accelerator: { type, perHost: Math.max(1, Math.floor(count / hosts)) } };
}

export const MOST_MACHINES = 1024;
export const MOST_ACCELERATORS = 100_000;

const schema = section({
  accelerator: text()
    .nullish()
    .describe('A type as the pool file has it, such as h100; machines without any if left out.'),
  count: wholeNumber(1, MOST_ACCELERATORS).nullish().describe('Accelerators of all machines of a slice, such as 16.'),
  hosts: wholeNumber(1, MOST_MACHINES).nullish().describe('Machines of a slice; 1 without it.'),
  labels: textMap().nullish().describe('Labels that each machine must have, as the pool file gives them.'),
});

/** The form of `machines` in a job file. */
export const machinesSection = (): typeof schema => schema;

export type MachinesForm = z.infer<typeof schema>;
