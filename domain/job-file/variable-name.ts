import type { Path } from '../problem.js';
import type { Report } from './report.js';

/** Names that jobctl sets itself on every host. */
const OWN_VARIABLE = /^(JOBCTL_|MEGASCALE_)/;

/** Reports a name that no environment variable of a command may have. */
export function checkVariableName(path: Path, name: string, report: Report, value?: unknown): void {
  if (!/^[A-Za-z_]\w*$/.test(name))
    report.wrong(path, name, 'no name of a variable', 'letters, digits and _; no digit first');
  else if (OWN_VARIABLE.test(name)) report.problem(path, value, 'is set by jobctl', 'take another name');
}
