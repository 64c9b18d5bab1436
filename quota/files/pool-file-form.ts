import { z } from 'zod';
import { duration, flag, section, text, texts, wholeNumber } from '../../domain/job-file/fields.js';
import { inventoryForm } from '../../domain/machine-kinds/machines/inventory.js';
import { poolTableForms } from '../../domain/pool-tables.js';
import { MOST_UNITS } from '../../domain/units.js';
import { accessSection } from './access-section.js';
import { allowSection } from './pool-allow.js';
import { limitsSection } from './pool-limits-form.js';

const units = (): z.ZodRecord<z.ZodString, ReturnType<typeof wholeNumber>> =>
  z.record(z.string(), wholeNumber(0, MOST_UNITS), { error: 'a table of units by type, such as v5litepod = 16' });
const unitsBy = (what: string): z.ZodOptional<z.ZodRecord<z.ZodString, ReturnType<typeof units>>> =>
  z.record(z.string(), units(), { error: `a table by ${what}` }).optional();

const tier = section({
  pricing: text()
    .optional()
    .describe('spot, ondemand, preemptible, reserved or flex-start: the tier serves jobs that name it or name none.'),
  reservation: text().optional().describe("Name or path of a Google reservation that the tier's chips come from."),
});

const quota = section({
  min_runtime: duration().optional().describe('A borrower keeps its chips for so long at least.'),
  aging: duration().optional().describe('A job that has waited so long gets a reservation.'),
  max_guarantee_delay: duration().optional().describe('Reservations hold in-quota demand back for so long at most.'),
  asking_timeout: duration().optional().describe('A lease without chips comes back after so long, while others wait.'),
  cool_down: duration().optional().describe('A place that gave no chips is left alone for so long; doubled each time.'),
  cool_down_max: duration().optional().describe('The longest cool-down.'),
  require_project: flag().optional().describe('Whether a job whose user is member of no project is refused.'),
  admins: texts()
    .optional()
    .describe('Users who may apply files, freeze, drain and set priorities; everybody without it.'),
});

const schema = section({
  google_project: text().optional().describe('Id of the Google Cloud project of jobs that name none.'),
  zones: texts().optional().describe('Zones of jobs that name none, in order of preference.'),
  ...poolTableForms(),
  machines: inventoryForm().optional().describe('Machines of your own, for jobs with the section machines.'),
  access: accessSection().optional().describe('Who may do what where users are verified (docs/access.md).'),
  allow: allowSection()
    .optional()
    .describe(
      'What jobs may choose beside what the pool gives them; without it anything, in a verified pool nothing else.',
    ),
  limits: limitsSection().optional().describe('What one user or one job may take of the pool.'),
  quota: quota
    .optional()
    .describe('The times of the quota rules (docs/quota.md), who must name a project, and who is admin.'),
  tiers: z
    .array(tier, { error: 'a list of tables: write [[tiers]]' })
    .optional()
    .describe('What each tier of the quota file is bought as, in the order of its [[total_resources]].'),
  largest_slice: unitsBy('zone').describe('By zone and type: units of the largest slice that it can hold.'),
  borrowing_limits: unitsBy('project').describe('By project and type: units that it may borrow at most.'),
  lending_limits: unitsBy('project').describe(
    'By project and type: units of its nominal quota that others may borrow at most, in each tier.',
  ),
});

/** The form of a pool file. Behind a function, as every schema: docs/adr/0012. */
export const poolFileSchema = (): typeof schema => schema;
export type PoolFileForm = z.infer<typeof schema>;

/** Keys about quota. Without a quota file they have no effect. */
export const RULE_KEYS = ['quota', 'tiers', 'largest_slice', 'borrowing_limits', 'lending_limits'] as const;

/** The form as JSON Schema (draft 2020-12), for editors. */
export function poolFileJsonSchema(): Record<string, unknown> {
  return { ...z.toJSONSchema(schema, { io: 'input' }), title: 'jobctl pool file' };
}
