import type { Path } from '../problem.js';
import { hiddenFailures, type Script } from './hidden-failures.js';
import { isMapping, mapStrings, valueAt } from './plain-tree.js';
import type { Report } from './report.js';
import { warnOfSecretIn } from './secret-looks.js';
import type { JobFile } from './sections.js';
import type { JobSpec } from '../job-spec.js';
import { askedMachines } from '../machines.js';
import { durationText } from '../units.js';
import { backslashStays, replaceBackslashed } from './interpolation.js';

/** Warnings about a job file that is right: each names what will probably surprise its user. */

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

/**
 * Warns of a `timeouts.provision` that has no effect because the job has one zone, or with which a zone has no turn before
 * `timeouts.queue` ends the wait. Without `hedge` there is no warning: that provider is asked again in the same zone.
 */
export function warnOfProvision(spec: JobSpec, report: Report): void {
  const { zones, hedge } = askedMachines(spec);
  const { provision, queue = Infinity } = spec.timeouts ?? {};
  const last = zones.at(-1);
  if (provision === undefined || hedge === undefined || last === undefined) return;
  const warn = (message: string): void => report.warn(['timeouts', 'provision'], message);
  if (zones.length === 1)
    warn(
      `has no effect: after it the next zone is asked too, and the job has one, ${last}; name more in tpu.zones, or leave it out (timeouts.queue ends the whole wait)`,
    );
  else if (Math.ceil(queue / provision) < zones.length)
    warn(
      `${durationText(provision)} for each zone leaves ${last} without a turn: timeouts.queue ends all waiting after ${durationText(queue)}; leave timeouts.provision out, or give it ${durationText(Math.floor(queue / zones.length))} at most`,
    );
}

/**
 * Warns of differences from JobMan, which kept the slice until `delete`, and took a running VM of the file's name. JobMan's job
 * files have a section `job` or `ssh`.
 */
export function warnUsersOfJobman(form: JobFile, saysKeep: boolean, report: Report): void {
  if (valueAt(form, ['tpu', 'name']) !== undefined)
    report.warn(
      ['tpu', 'name'],
      'is the beginning of the names of new slices: a TPU VM of this name that runs already is left alone, where JobMan took it',
    );
  if (saysKeep) return;
  report.warnings.push(
    'the slice is deleted when the command ends (JobMan kept it), and its logs stay; write keep: always to keep the slice, which is billed until `jobctl delete`, or keep: never to hide this line',
  );
}

/** Warns of each text in which JobMan took a backslash away. */
export function warnOfBackslashes(tree: unknown, report: Report): void {
  mapStrings(tree, (text, path) => {
    const found = new Map<string, string>();
    replaceBackslashed(text, (written, literal) => {
      found.set(written, literal);
      return written;
    });
    for (const [written, literal] of found) report.warn(path, backslashStays(written, literal));
    return text;
  });
}
