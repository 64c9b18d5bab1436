/** The text with this row in the table that has this head, in place of an older row. @throws Error if it has no such table */
export function withRow(text: string, head: string, name: string, cells: readonly (string | number)[]): string {
  const row = `| ${[name, ...cells].join(' | ')} |`;
  const lines = text.split('\n');
  const at = lines.indexOf(head);
  if (at === -1) throw new Error(`docs/runs.md: no table with the head ${head}`);
  const end = lines.findIndex((line, index) => index > at && !line.startsWith('|'));
  const old = lines.findIndex((line, index) => index > at && index < end && line.startsWith(`| ${name} |`));
  if (old === -1) lines.splice(end, 0, row);
  else lines[old] = row;
  return lines.join('\n');
}

/** Head of the table in docs/runs.md that has one row for each step of .ci/long. */
export const HEAD = '| step | date | commit | result | time |';
export const OLDER = 'Older than the code that they judge: ';

const PRODUCT =
  'domain quota contract workflows activities cloud worker client cli server rehearsal python deploy package-lock.json'.split(
    ' ',
  );
/** Paths that a step judges, by its name. Any other step judges the whole product. */
const JUDGED: readonly (readonly [step: RegExp, paths: readonly string[]])[] = [
  [/^kubernetes/, ['cloud/machines/kubernetes', 'cloud/machines/ray-cluster', 'cloud/hosts', 'deploy/kubernetes']],
  [/^rehearsal/, ['rehearsal']],
  [/^python/, ['python', 'server', 'contract']],
  [/^own machines/, ['cloud/machines/own', 'cloud/hosts']],
  [/^compose/, ['docker-compose.yml', 'docker-compose.verified.yml', 'Dockerfile', 'deploy', 'server']],
  [/^quota/, ['quota', 'workflows/quota']],
  [/^alerts/, ['deploy/prometheus', 'worker']],
  [/^docs/, ['docs', 'README.md', 'client', 'cli']],
  [/^(cli|first hour|export|jobman)/, ['client', 'cli', 'domain']],
  [/^(modules|set-up|runner|hosts|verbs on hosts)/, ['cloud/hosts', 'activities', 'domain']],
  [/^(server|security)/, ['server', 'cloud', 'contract', 'domain']],
];

export const judgedBy = (step: string): readonly string[] => JUDGED.find(([name]) => name.test(step))?.[1] ?? PRODUCT;

/** Names of the rows whose commit is unknown, or whose judged code has changed since that commit. */
export function olderSteps(
  text: string,
  hasChanged: (commit: string, paths: readonly string[]) => boolean,
): readonly string[] {
  const lines = text.split('\n');
  const rows = lines.slice(lines.indexOf(HEAD) + 2);
  const end = rows.findIndex((line) => !line.startsWith('|'));
  return rows.slice(0, end).flatMap((row) => {
    const [step = '', , commit = ''] = row.slice(2).split(' | ');
    return hasChanged(commit, judgedBy(step)) ? [step] : [];
  });
}

/** Returns the text with the line that names the older steps. */
export function withOlder(text: string, steps: readonly string[]): string {
  const said = `${OLDER}${steps.length === 0 ? 'none' : steps.map((step) => `"${step}"`).join(', ')}.`;
  const line = text.split('\n').find((each) => each.startsWith(OLDER));
  if (line === undefined) throw new Error(`docs/runs.md: no line that begins with '${OLDER}'`);
  return text.replace(line, () => said);
}
