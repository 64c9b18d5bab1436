import { type CloudQuotaRow, cloudQuotaOf } from '../../doctor/cloud-quota.js';
import { type GoogleFlags, openGoogleProject } from '../../doctor/google.js';
import { ExitCode } from '../../terminal/cli-error.js';
import { printErr, printOut } from '../../terminal/print.js';
import { oneLine, renderTable, terminalWidth } from '../../terminal/render/columns.js';
import { csvLines } from '../../terminal/render/report.js';

export interface CloudQuotaFlags extends GoogleFlags {
  readonly zone?: readonly string[];
  readonly all?: true;
  readonly output: 'table' | 'csv' | 'json';
}

export async function reportCloudQuota(flags: CloudQuotaFlags): Promise<number> {
  const { port } = await openGoogleProject(flags, process.env);
  const { rows, notes } = await cloudQuotaOf(port, { zones: flags.zone ?? [], isAll: flags.all === true });
  switch (flags.output) {
    case 'json':
      printOut(`${JSON.stringify({ googleProject: port.googleProject, at: Date.now(), rows, notes }, null, 2)}\n`);
      break;
    case 'csv':
      printOut(
        csvLines(
          ['place', 'quota', 'in_use', 'limit'],
          rows.map(({ place, quota, inUse = '', limit = 'unlimited' }) => [place, quota, inUse, limit]),
        ),
      );
      for (const note of notes) printErr(`${note}\n`);
      break;
    case 'table': {
      const head = ['PLACE', 'QUOTA', 'IN USE', 'LIMIT'];
      const lines = renderTable([head, ...rows.map(cellsOf)], terminalWidth(process.stdout));
      printOut(
        `${[`Google's quota of project ${port.googleProject}`, '', ...lines, ...notes.map((note) => `  ${note}`)].join('\n')}\n`,
      );
    }
  }
  return ExitCode.Done;
}

const cellsOf = ({ place, quota, inUse, limit }: CloudQuotaRow): readonly string[] => [
  ...[oneLine(place), oneLine(quota)],
  ...[inUse === undefined ? '-' : String(inUse), limit === undefined ? 'unlimited' : String(limit)],
];
