import type { Path } from '../problem.js';
import { hiddenFailures, type Script } from './hidden-failures.js';
import { isMapping } from './plain-tree.js';
import type { Report } from './report.js';
import { warnOfSecretIn } from './secret-looks.js';
import type { JobFile } from './sections.js';

/** Sorts of shell text. `boot` and `options` are checked only for secrets: nobody reads the exit code of `boot`. */
type Sort = Script['sort'] | 'boot' | 'options';

/** The places of a job file that hold shell; `*` is any key or index. A test finds those that are missing here. */
const SCRIPTS: readonly (readonly [place: string, sort: Sort, isPlain?: true])[] = [
  ['command.run', 'command'],
  ['command.cmd', 'command'],
  ['hooks.*', 'hook'],
  ['hooks.*.run', 'hook'],
  ['bundle.install', 'set-up'],
  ['script.run', 'set-up'],
  ['script.check', 'check', true],
  ['modules.*.setup.*.run', 'set-up'],
  ['modules.*.check', 'check', true],
  // JobMan's key, with JobMan's shell.
  ['gcsfuse.cache.prefix', 'set-up', true],
  ['gcsfuse.extra_mounts.*.cache.prefix', 'set-up', true],
  ['*.startup_script', 'boot'],
  ['docker.flags.*', 'options'],
];

/** Warns of secrets in scripts, and of lines whose failure nobody would notice (docs/adr/0123). */
export function warnOfScripts(form: JobFile, report: Report): void {
  for (const [place, sort, isPlain] of SCRIPTS)
    for (const [path, text] of textsAt(form, place.split('.'))) {
      warnOfSecretIn(path, text, report);
      if (sort === 'boot' || sort === 'options') continue;
      for (const sentence of hiddenFailures(text, scriptOf(sort, isPlain, form))) report.warn(path, sentence);
    }
}

function scriptOf(sort: Script['sort'], isPlain: true | undefined, { command }: JobFile): Script {
  if (sort === 'set-up' || sort === 'check') return { sort, pipes: isPlain ? 'last' : 'all' };
  const shell = command?.shell ?? (command?.run ? 'bash' : 'plain');
  const waitsForAll = sort === 'command' && command?.wait_for === 'all';
  return { sort, pipes: shell === 'plain' ? 'last' : 'all', waitsForAll };
}

function textsAt(
  value: unknown,
  [key, ...rest]: readonly string[],
  path: Path = [],
): readonly (readonly [Path, string])[] {
  if (key === undefined) return typeof value === 'string' && value !== '' ? [[path, value]] : [];
  if (!Array.isArray(value) && !isMapping(value)) return [];
  return Object.entries(value)
    .filter(([name]) => key === '*' || name === key)
    .flatMap(([name, child]) => textsAt(child, rest, [...path, Array.isArray(value) ? Number(name) : name]));
}
