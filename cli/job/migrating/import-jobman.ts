import { isMap, isScalar, parseDocument, type Document, visit } from 'yaml';
import { jobNameFrom } from '../../../domain/identity.js';
import { backslashStays, replaceBackslashed, replaceDotted } from '../../../domain/job-file/interpolation.js';
import { parseJobFile } from '../../../domain/job-file/parse.js';
import { valueAt } from '../../../domain/job-file/plain-tree.js';
import { formatPath, formatProblems, type Path, type Problem, showValue } from '../../../domain/problem.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { Told } from './draft.js';
import { JOBMAN_LOST, JOBMAN_RENAMED, JOBMAN_UNUSED } from './jobman-keys.js';

export interface ImportedFile {
  readonly text: string;
  readonly told: readonly Told[];
}

/**
 * Converts a JobMan file to jobctl's names. Comments and the order of keys stay.
 * @throws CliError for problems of the file itself
 */
export function importJobman(text: string, file: string): ImportedFile {
  const document = parseDocument(text, { merge: true, logLevel: 'error' });
  const told: Told[] = [];
  const resolvedAsItIs = parseJobFile(text, { file, env: process.env });
  const problems = resolvedAsItIs.ok ? [] : resolvedAsItIs.problems;
  // A key that jobctl does not know is reported as lost. Any other problem is shown at its place in the user's file.
  const isLeftOut = ({ at, path }: Problem): boolean =>
    (at === 'key' && document.hasIn(path)) || JOBMAN_UNUSED.some(({ key }) => key === formatPath(path));
  const wrong = problems.filter((problem) => !isLeftOut(problem));
  if (wrong.length > 0) throw new CliError(ExitCode.Usage, formatProblems(wrong));
  if (document.errors.length === 0 && isMap(document.contents)) {
    const before: unknown = document.toJS();
    for (const { key, to = '', note } of JOBMAN_RENAMED) {
      if (!move(document, key.split('.'), to.split('.'))) continue;
      told.push({ key, fate: 'changed', text: note === undefined ? to : `${to}: ${note}` });
    }
    fitName(document);
    if (document.hasIn(['command', 'run']) && !document.hasIn(['command', 'shell'])) {
      document.setIn(['command', 'shell'], 'plain');
      told.push({ key: 'command', fate: 'changed', text: KEEPS_SHELL });
    }
    told.push(...withoutUnused(document), ...withoutUnknown(document, file), ...fitReferences(document, before));
  }
  const written = document.errors.length === 0 ? document.toString({ lineWidth: 0 }) : text;
  const resolved = parseJobFile(written, { file, env: process.env });
  if (!resolved.ok) throw new CliError(ExitCode.Usage, formatProblems(resolved.problems));
  const warnings = resolved.warnings.map((warning): Told => ({ key: '(as it runs)', fate: 'changed', text: warning }));
  return { text: written, told: [...told, ...warnings] };
}

/** Moves a value to its new name. Within one section, it keeps its place. @returns false if there is nothing to move */
function move(document: Document, from: Path, to: Path): boolean {
  if (!document.hasIn(from) || document.hasIn(to)) return false;
  const value = document.getIn(from, true);
  const section = document.getIn(from.slice(0, -1), true);
  const isSameSection = formatPath(from.slice(0, -1)) === formatPath(to.slice(0, -1));
  if (isSameSection && isMap(section)) {
    const pair = section.items.find(({ key }) => isScalar(key) && key.value === from.at(-1));
    if (pair !== undefined && isScalar(pair.key)) pair.key.value = to.at(-1);
    return true;
  }
  document.deleteIn(from);
  document.setIn(to, value);
  if (isMap(section) && section.items.length === 0) document.deleteIn(from.slice(0, -1));
  return true;
}

const KEEPS_SHELL =
  'command.shell: plain keeps the shell of JobMan, in which a pipe has the exit code of its last program alone';

function fitName(document: Document): void {
  const name: unknown = document.get('name');
  if (typeof name === 'string' && !name.includes('${')) document.set('name', jobNameFrom(name));
}

/** Removes keys that jobctl accepts in a JobMan file and does not use. @returns a report on each */
function withoutUnused(document: Document): readonly Told[] {
  return JOBMAN_UNUSED.flatMap(({ key, note = '' }) => {
    const path = key.split('.');
    if (!document.hasIn(path)) return [];
    const told: Told = { key: `${key}: ${showValue(document.getIn(path))}`, fate: 'lost', text: note };
    document.deleteIn(path);
    return [told];
  });
}

/** Removes keys that jobctl does not know. @returns a report on each */
function withoutUnknown(document: Document, file: string): readonly Told[] {
  const resolved = parseJobFile(document.toString({ lineWidth: 0 }), { file, env: process.env });
  const unknown = resolved.ok ? [] : resolved.problems.filter(({ at, path }) => at === 'key' && document.hasIn(path));
  return unknown.map((problem) => {
    document.deleteIn(problem.path);
    return { key: `${formatPath(problem.path)}: ${showValue(problem.value)}`, fate: 'lost', text: reason(problem) };
  });
}

/** Corrects references to keys that were renamed or removed. @param before the tree of the user's file */
function fitReferences(document: Document, before: unknown): readonly Told[] {
  const told = new Map<string, Told>();
  const fit = (text: string, depth = 0): string =>
    replaceDotted(text, (path, reference) => {
      const value = valueAt(before, path);
      if (document.hasIn(path) || value === undefined || typeof value === 'object' || depth > MOST_LEVELS)
        return reference;
      const to = JOBMAN_RENAMED.find(({ key }) => key === path.join('.'))?.to;
      // A reference cannot name a key without a section, such as `name`.
      const isNamed = to?.includes('.') === true && document.getIn(to.split('.')) === value;
      const instead = isNamed ? `\${${to}}` : fit(String(value), depth + 1);
      told.set(reference, {
        key: reference,
        fate: 'changed',
        text: `${instead}, for the key is not in the file any more`,
      });
      return instead;
    });
  // With one of these sections, the new file itself causes the warning.
  const isToBeTold = !document.hasIn(['job']) && !document.hasIn(['ssh']);
  const tellBackslash = (written: string, literal: string): string => {
    if (isToBeTold) told.set(written, { key: written, fate: 'changed', text: backslashStays(written, literal) });
    return written;
  };
  visit(document, {
    Scalar: (key, scalar) => {
      if (key !== 'key' && typeof scalar.value === 'string')
        scalar.value = replaceBackslashed(fit(scalar.value), tellBackslash);
    },
  });
  return [...told.values()];
}

const MOST_LEVELS = 10;

const reason = ({ path, message }: Problem): string =>
  JOBMAN_LOST.find(({ key }) => key === formatPath(path))?.note ?? `jobctl: ${message}`;
