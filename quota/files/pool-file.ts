import type { PoolDefaults } from '../../domain/job-file/pool-defaults.js';
import { Report } from '../../domain/job-file/report.js';
import { checkForm } from '../../domain/job-file/schema-problems.js';
import { checkPoolDefaults } from '../../domain/job-file/tpu-section.js';
import type { Path, Problem } from '../../domain/problem.js';
import { poolFileSchema } from './pool-file-form.js';
import type { PoolFileForm } from './pool-file-form.js';
import { poolRulesOf } from './pool-rules.js';
import type { PoolRules } from '../quota-config.js';
import { TomlPositions } from './toml-positions.js';
import { located, readToml } from './toml-text.js';

const POOL_FILE = { schema: poolFileSchema(), title: 'a pool file' };

export type ParsedPoolFile =
  | {
      readonly ok: true;
      readonly defaults: PoolDefaults;
      /** What it says of quota; absent: nothing. Whether that fits a quota file: `checkFiles` (pool-files.ts). */
      readonly rules?: PoolRules;
      /** As written. */
      readonly form: PoolFileForm;
    }
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
  const ofTpu = report.problems.map((problem) => ({ ...problem, path: inPoolFile(problem.path) }));
  const ofRules = new Report(dropped);
  const rules = poolRulesOf(form, ofRules);
  const all = [...problems, ...ofTpu, ...ofRules.problems];
  if (all.length > 0) return { ok: false, problems: located(all, file, positions) };
  return { ok: true, defaults: asDefaults(form, file, pool), ...(rules && { rules }), form };
}

function asDefaults({ google_project, zones, tpu }: PoolFileForm, file: string, pool: string): PoolDefaults {
  return {
    pool,
    file,
    ...(google_project !== undefined && { googleProject: google_project }),
    ...(zones && zones.length > 0 && { zones }),
    ...(tpu && { tpu }),
  };
}

/** The keys as a job's `tpu` has them; the version is a text whatever its form. */
function asTpuForm({ google_project, zones, tpu }: PoolFileForm) {
  const { version: _, ...rest } = tpu ?? {};
  return { ...rest, ...(google_project !== undefined && { project: google_project }), ...(zones && { zones }) };
}

/** Where the pool file has what a job file has in `tpu`. */
function inPoolFile(path: Path): Path {
  if (path[1] === 'zones') return path.slice(1);
  return path[1] === 'project' ? ['google_project'] : path;
}
