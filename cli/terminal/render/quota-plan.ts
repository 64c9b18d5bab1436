import type { Demand } from '../../../domain/lease.js';
import { plainWording } from '../../../quota/explanation/explain-words.js';
import type { Plan } from '../../../quota/plan.js';
import type { Pool } from '../../../quota/quota-config.js';
import { count, formatUnits } from '../../../domain/units.js';
import { oneLine, renderTable } from './columns.js';

const MOST_ROWS = 20;

/** Renders `jobctl quota plan`: the effect of one decision, for people. @param nameOf names ids of `view`, as `plan` has them */
export function renderPlan(
  plan: Plan,
  view: Pool,
  headline: string,
  nameOf: (id: string) => string,
  width?: number,
): readonly string[] {
  const requests = new Map(view.requests.map((request) => [nameOf(request.id), request]));
  const leases = new Map(view.leases.map((lease) => [nameOf(lease.id), lease]));
  const { hasTiers } = plainWording(view.config);
  const { grants, preemptions, waiting } = plan;
  return [
    `${headline}: ${count(grants.length, 'job')} granted, ${preemptions.length} preempted, ${waiting.length} waiting`,
    ...table(
      ['GRANTED', 'PROJECT', 'USER', 'UNITS', hasTiers ? 'TIER' : ''],
      grants.map(({ id, tier }) => [id, ...who(requests.get(id)), hasTiers ? String(tier + 1) : '']),
      width,
    ),
    ...table(
      ['PREEMPTED', 'PROJECT', 'USER', 'UNITS', 'FOR'],
      preemptions.map(({ id, for: whom }) => [id, ...who(leases.get(id)), whom]),
      width,
    ),
    ...table(
      ['WAITING', 'PROJECT', 'USER', 'UNITS', 'PLACE', 'WHY'],
      waiting.map(({ id, position, reasons }) => [
        id,
        ...who(requests.get(id)),
        String(position),
        reasons.map(oneLine).join('; '),
      ]),
      width,
    ),
  ];
}

const who = (demand: Demand | undefined): readonly string[] =>
  demand === undefined ? ['', '', ''] : [demand.project, demand.user, formatUnits(demand.units)];

function table(head: readonly string[], rows: readonly (readonly string[])[], width?: number): readonly string[] {
  if (rows.length === 0) return [];
  const shown = [head, ...rows.slice(0, MOST_ROWS)].map(([first = '', ...cells]) => [`  ${first}`, ...cells]);
  const hidden = rows.length - MOST_ROWS;
  return ['', ...renderTable(shown, width), ...(hidden > 0 ? [`  .. and ${hidden} more: --output json has all`] : [])];
}
