import type { z } from 'zod';
import { section, text, texts } from '../domain/job-file/fields.js';
import { poolTpuSection } from '../domain/job-file/pool-defaults.js';
import type { PoolDefaults } from '../domain/job-file/pool-defaults.js';
import { Report } from '../domain/job-file/report.js';
import { checkForm } from '../domain/job-file/schema-problems.js';
import { checkPoolDefaults } from '../domain/job-file/tpu-section.js';
import type { Path, Problem } from '../domain/problem.js';
import { TomlPositions } from './toml-positions.js';
import { located, readToml } from './toml-text.js';

const poolFileSchema = section({
  google_project: text().optional().describe('Id of the Google Cloud project of jobs that name none.'),
  zones: texts().optional().describe('Zones of jobs that name none, in order of preference.'),
  tpu: poolTpuSection().optional().describe("Defaults for tpu of a job file, under the job file's own keys."),
});
const POOL_FILE = { schema: poolFileSchema, title: 'a pool file' };

export type ParsedPoolFile =
  | { readonly ok: true; readonly defaults: PoolDefaults }
  | { readonly ok: false; /** In file order. */ readonly problems: readonly Problem[] };

/**
 * Reads a pool file: what Bastion's quota file cannot say of a pool, as TOML beside it (docs/pool-file.md).
 * @param file its name, for messages, those about jobs too
 * @param pool whose file it is
 */
export function parsePoolFile(source: string, file: string, pool: string): ParsedPoolFile {
  const positions = new TomlPositions(source);
  const tree = readToml(source, positions);
  if (!tree.ok) return { ok: false, problems: [{ file, ...tree.problem }] };
  const { form, problems, dropped } = checkForm(POOL_FILE, tree.value);
  const report = new Report(dropped);
  checkPoolDefaults(asTpuForm(form), report);
  const all = [...problems, ...report.problems.map((problem) => ({ ...problem, path: inPoolFile(problem.path) }))];
  if (all.length > 0) return { ok: false, problems: located(all, file, positions) };
  return { ok: true, defaults: asDefaults(form, file, pool) };
}

type PoolFile = z.infer<typeof poolFileSchema>;

function asDefaults({ google_project, zones, tpu }: PoolFile, file: string, pool: string): PoolDefaults {
  return {
    pool,
    file,
    ...(google_project !== undefined && { googleProject: google_project }),
    ...(zones && zones.length > 0 && { zones }),
    ...(tpu && { tpu }),
  };
}

/** The keys as a job's `tpu` has them; the version is a text whatever its form. */
function asTpuForm({ google_project, zones, tpu }: PoolFile) {
  const { version: _, ...rest } = tpu ?? {};
  return { ...rest, ...(google_project !== undefined && { project: google_project }), ...(zones && { zones }) };
}

/** Where the pool file has what a job file has in `tpu`. */
function inPoolFile(path: Path): Path {
  if (path[1] === 'zones') return path.slice(1);
  return path[1] === 'project' ? ['google_project'] : path;
}
