import type { z } from 'zod';
import type { ChoiceLists } from '../../choices.js';
import { textValues } from '../../job-file/fields.js';
import { poolTpuSection } from '../../job-file/pool-defaults.js';
import { Report } from '../../job-file/report.js';
import type { Path } from '../../problem.js';
import type { PoolTable } from '../kind.js';
import { scopeUrls } from './google-resources.js';
import { checkPoolDefaults } from './section.js';

type Table = z.output<ReturnType<typeof poolTpuSection>>;

/** `[tpu]` of a pool file. The file's zones and Google project are checked with it, as a job's own would be. */
export const tpuPoolTable: PoolTable<ReturnType<typeof poolTpuSection>> = {
  form: poolTpuSection,
  check: ({ google_project: project, zones, table = {} }, report) => {
    // Its form is checked already, and a version is right for some type.
    const { version: _, ...rest } = table;
    const inJob = new Report([]);
    checkPoolDefaults({ ...rest, ...(project !== undefined && { project }), ...(zones && { zones }) }, inJob);
    for (const { path, value, message, hint } of inJob.problems) report.problem(inPoolFile(path), value, message, hint);
  },
  gives,
};

/** Path in a pool file of a value that a job file has in `tpu`. */
function inPoolFile(path: Path): Path {
  if (path[1] === 'zones') return path.slice(1);
  return path[1] === 'project' ? ['google_project'] : path;
}

function gives(table: Table): ChoiceLists {
  const { service_account, scopes, network, subnetwork, external_ips, tags, metadata, reservation, data_disks } = table;
  return {
    service_accounts: texts(service_account),
    scopes: (scopes ?? []).flatMap(scopeUrls),
    networks: texts(network, subnetwork),
    external_ips: external_ips === false ? ['false'] : [],
    tags: tags ?? [],
    metadata: Object.entries(textValues(metadata)).map(([key, value]) => `${key}=${value}`),
    reservations: texts(reservation),
    data_disks: (data_disks ?? []).map(({ source }) => source),
  };
}

const texts = (...values: readonly (string | null | undefined)[]): readonly string[] =>
  values.filter((value) => typeof value === 'string');
