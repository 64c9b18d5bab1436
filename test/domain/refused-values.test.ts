import assert from 'node:assert/strict';
import { z } from 'zod';
import { assign } from '../../domain/job-file/edit.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { jobFileSchema } from '../../domain/job-file/sections.js';
import { formatPath, type Path, type Problem, showValue } from '../../domain/problem.js';
import { parsePoolFile } from '../../quota/files/pool-file.js';
import { poolFileSchema } from '../../quota/files/pool-file-form.js';
import { LEAST_SECTIONS } from './kind-jobs.js';

interface Schema {
  readonly type?: string;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

const variants = (schema: Schema): readonly Schema[] => [schema, ...(schema.anyOf ?? []).flatMap(variants)];

/** The keys that take a number, durations among them; a list's elements have no key of their own. */
function numberKeys(schema: Schema, path: readonly string[] = []): readonly (readonly string[])[] {
  const forms = variants(schema);
  const own = forms.some(({ type }) => type === 'number' || type === 'integer') ? [path] : [];
  const below = forms.flatMap((form) =>
    Object.entries(form.properties ?? {}).flatMap(([key, child]) => numberKeys(child, [...path, key])),
  );
  return [...own, ...below];
}
const keysOf = (schema: z.ZodType): readonly (readonly string[])[] =>
  numberKeys(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema);

const SECTIONS = Object.values(LEAST_SECTIONS).map((section): Readonly<Record<string, unknown>> => ({ ...section }));
const jobFor = ([section = '']: readonly string[]): object => ({
  ...(SECTIONS.find((one) => Object.hasOwn(one, section)) ?? LEAST_SECTIONS['cloud-tpu']),
  command: { run: 'true' },
});

/** Below, above and beside what any key takes; each is refused by some. */
const VALUES = [-1, 0, 1, '1s', 1.5, 3, 59, '5m', 1e12, '99999999h', 'abc'];

function inJob(path: Path, value: unknown): readonly Problem[] {
  const assigned = assign(jobFor(path.map(String)), { path, value });
  const resolved = 'tree' in assigned ? resolveJob(assigned.tree, { mayBeArray: true }) : undefined;
  return resolved?.ok === false ? resolved.problems : [];
}
function inPool(path: Path, value: unknown): readonly Problem[] {
  const parsed = parsePoolFile(`${path.join('.')} = ${JSON.stringify(value)}\n`, 'p.toml', 'p');
  return parsed.ok ? [] : parsed.problems;
}

describe('a number or a duration that is refused', () => {
  const files = { 'job file': [jobFileSchema(), inJob], 'pool file': [poolFileSchema(), inPool] } as const;
  for (const [file, [schema, problemsOf]] of Object.entries(files))
    for (const path of keysOf(schema))
      it(`is in the message: ${formatPath(path)} of a ${file}`, () => {
        const told = VALUES.flatMap((value) =>
          problemsOf(path, value)
            .filter((problem) => formatPath(problem.path) === formatPath(path))
            .map(({ message }) => ({ value, message })),
        );
        assert.ok(told.length > 0, 'none of the values is refused');
        for (const { value, message } of told)
          assert.ok(message.includes(showValue(value)), `${showValue(value)}: ${message}`);
      });
});
