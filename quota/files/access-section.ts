import { z } from 'zod';
import { PRINCIPAL, PRINCIPAL_RULE } from '../../domain/access/principal.js';
import { oneOf, section, text, texts } from '../../domain/job-file/fields.js';
import type { Report } from '../../domain/job-file/report.js';
import type { Path } from '../../domain/problem.js';
import type { AccessRules, ServiceRule } from '../access-roles.js';
import { patternProblem } from '../name-pattern.js';
import { twinsOf } from '../quota-config.js';

const service = section({
  subject: text().describe("Id of the service's account, as its token has it."),
  submit_for: texts().describe('Users that it may submit for: names, or patterns (RE2, full match).'),
});

const access = section({
  operators: texts()
    .optional()
    .describe(
      'Principals (user:NAME, group:NAME, service:NAME) that may do everything in this pool; nobody without it.',
    ),
  readers: oneOf(['owner', 'project', 'pool'])
    .optional()
    .describe(
      "Who reads job files, logs and outputs beside owner, admins and operators: the project's members (default).",
    ),
  projects: z
    .record(
      z.string(),
      section({ admins: texts().optional().describe('Principals that may change every job of the project.') }),
      { error: 'a table by project' },
    )
    .optional()
    .describe('By project of the quota file: who its admins are.'),
  services: z
    .array(service, { error: 'a list of tables: write [[access.services]]' })
    .optional()
    .describe('Services that submit for people.'),
});

/** `[access]` of a pool file. Behind a function, as every schema: docs/adr/0012. */
export const accessSection = (): typeof access => access;
type AccessForm = z.infer<typeof access>;

/** Reads `[access]`. Problems go into `report`. */
export function accessRulesOf(form: AccessForm, report: Report): AccessRules {
  return {
    operators: principals(form.operators ?? [], ['access', 'operators'], report),
    projectAdmins: adminsOf(form.projects ?? {}, report),
    services: (form.services ?? []).map((each, index) => serviceOf(each, ['access', 'services', index], report)),
    readers: form.readers ?? 'project',
  };
}

function principals(names: readonly string[], path: Path, report: Report): readonly string[] {
  names.forEach((name, index) => {
    if (!PRINCIPAL.test(name)) report.wrong([...path, index], name, 'no principal', PRINCIPAL_RULE);
  });
  return names;
}

function adminsOf(projects: NonNullable<AccessForm['projects']>, report: Report): AccessRules['projectAdmins'] {
  const twins = twinsOf(Object.keys(projects));
  return Object.fromEntries(
    Object.entries(projects).map(([name, { admins = [] }]) => {
      const path = ['access', 'projects', name];
      const twin = twins.get(name);
      if (twin !== undefined)
        report.problem(path, undefined, `'${name}' and '${twin}' differ by case only`, 'keep one');
      return [name.toLowerCase(), principals(admins, [...path, 'admins'], report)];
    }),
  );
}

function serviceOf({ subject, submit_for }: z.infer<typeof service>, path: Path, report: Report): ServiceRule {
  submit_for.forEach((pattern, index) => {
    const problem = patternProblem(pattern);
    if (problem !== undefined) report.wrong([...path, 'submit_for', index], pattern, `no pattern: ${problem}`);
  });
  return { subject, submitFor: submit_for };
}
