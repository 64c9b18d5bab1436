import { halfReference, substituteEnvironment } from '../job-file/interpolation.js';
import { isMapping, type Mapping, mapStrings, valueAt } from '../job-file/plain-tree.js';
import { tidy } from '../job-file/report.js';
import type { ResolvedJob, ResolveOptions } from '../job-file/resolved-job.js';
import { localFilesOf } from '../modules/set-up.js';
import { formatPath, type Problem } from '../problem.js';
import { memberFile, ofMember, readArray, sampleOf } from './array.js';

type ResolveOne = (file: Mapping, options: ResolveOptions) => ResolvedJob;

/**
 * Resolves a file with an array: a sample of its members, each by the rules of an ordinary job file.
 * @param resolveOne the rules
 */
export function resolveMembers(raw: Mapping, options: ResolveOptions, resolveOne: ResolveOne): ResolvedJob {
  const { env, ...others } = options;
  const environment = substituteEnvironment(raw, env);
  if (!isMapping(environment.tree) || environment.problems.length > 0)
    return { ok: false, problems: tidy(environment.problems, raw) };
  const read = readArray(environment.tree);
  if (!read.ok) return { ok: false, problems: tidy(read.problems, raw) };
  const { array } = read;
  const half = halfReferences(environment.tree);
  if (half.length > 0) return { ok: false, problems: tidy(half, raw) };
  let first: Extract<ResolvedJob, { ok: true }> | undefined;
  const problems = new Map<string, Problem>();
  const [firstIndex] = sampleOf(array);
  for (const index of sampleOf(array)) {
    const member = memberFile(environment.tree, array, index);
    const resolved = member.ok ? resolveOne(member.file, others) : member;
    const found = resolved.ok ? differencesOf(resolved, first) : resolved.problems;
    for (const problem of found) {
      const place = `${formatPath(problem.path)} ${problem.message}`;
      const isOfAll = index === firstIndex && !refersToArray(raw, problem);
      if (!problems.has(place)) problems.set(place, isOfAll ? problem : ofMember(problem, array, index));
    }
    if (resolved.ok) first ??= resolved;
  }
  if (problems.size > 0 || first === undefined) return { ok: false, problems: tidy([...problems.values()], raw) };
  return { ...first, raw: environment.tree, warnings: [...environment.warnings, ...first.warnings], array };
}

/** `${array.lr` without its end would reach the shell, which takes it for no text either. */
function halfReferences(tree: Mapping): readonly Problem[] {
  const problems: Problem[] = [];
  mapStrings(tree, (text, path) => {
    const found = halfReference(text, 'array');
    if (found !== undefined)
      problems.push({
        ...{ path, value: found, message: `'${found}' is no whole reference` },
        hint: `write \${array.NAME}; as text of your shell or program it is \$${found}`,
      });
    return text;
  });
  return problems;
}

/** Problems of values that all members must share, since they are submitted, signed or built once. */
function differencesOf(
  { spec, build }: Extract<ResolvedJob, { ok: true }>,
  first: Extract<ResolvedJob, { ok: true }> | undefined,
): readonly Problem[] {
  if (first === undefined) return [];
  const different = (key: string, isSame: boolean, hint: string): Problem[] =>
    isSame ? [] : [{ path: [key], message: 'differs from member to member', hint }];
  const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
  const fixed = 'all members have the same; write a fixed text';
  return [
    ...different('pool', spec.pool === first.spec.pool, fixed),
    ...different('project', spec.project === first.spec.project, fixed),
    ...different('user', spec.user === first.spec.user, fixed),
    ...different(
      'files',
      isSame(localFilesOf(spec), localFilesOf(first.spec)),
      'name a folder that holds the files of all',
    ),
    ...different('build', isSame(build, first.build), 'one image is built for all; submit an array for each image'),
  ];
}

const refersToArray = (raw: unknown, { path }: Problem): boolean =>
  (JSON.stringify(valueAt(raw, path)) ?? '').includes('${array.');
