import { isValidUser, USER_RULE } from '../../domain/identity.js';
import { isMapping } from '../../domain/job-file/plain-tree.js';
import { nearestWord } from '../../domain/nearest-word.js';
import { showValue, type Problem } from '../../domain/problem.js';
import type { JobInput } from '../../contract/job.js';

/** The version of a job's input that this worker knows. */
const KNOWN_VERSION = 1;
const KNOWN_KEYS = [
  'v',
  'job',
  'source',
  'user',
  'files',
  'sshKey',
  'identityKeys',
  'authorization',
  'carry',
] as const satisfies readonly (keyof JobInput)[];
const EXAMPLE = 'start the workflow with one argument: {"v": 1, "job": {"tpu": {..}, "command": {..}}}';
const SHA256 = /^[0-9a-f]{64}$/;
const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{43}$/;

/**
 * Problems of the input of a job's workflow, apart from the job file in it. Another service, in any language, may have sent it.
 * The check is strict, so that a key that is misspelt, or known only to a later version, is not ignored in silence.
 */
export function inputProblems(input: unknown): readonly Problem[] {
  if (isAbsent(input)) return [problem([], undefined, 'is missing', EXAMPLE)];
  if (!isMapping(input)) return [problem([], input, `${showValue(input)} is not the input of a job`, EXAMPLE)];
  // Nothing else can be judged in a version that is not known.
  const version = versionProblem(input['v']);
  if (version) return [version];
  return [
    ...Object.keys(input).flatMap((key) => unknownKey(key, input[key])),
    ...(isAbsent(input['job']) ? [problem(['job'], undefined, 'is missing', EXAMPLE)] : []),
    ...textProblems(input),
    ...fileProblems(input['files']),
    ...keyProblems(input['identityKeys']),
  ];
}

/** Only an input of the known version says which workflows it asks to tell. */
export const isOfKnownVersion = (input: unknown): input is JobInput => isMapping(input) && input['v'] === KNOWN_VERSION;

function versionProblem(v: unknown): Problem | undefined {
  if (v === KNOWN_VERSION) return undefined;
  if (isAbsent(v)) return problem(['v'], undefined, 'is missing', EXAMPLE);
  const hint = `known: ${KNOWN_VERSION}, a whole number; a later one needs later workers (docs/contract.md, "Versions")`;
  return problem(['v'], v, `${showValue(v)} is not a version of a job's input that this worker knows`, hint);
}

function unknownKey(key: string, value: unknown): Problem[] {
  if (KNOWN_KEYS.some((known) => known === key)) return [];
  const shown = KNOWN_KEYS.filter((known) => known !== 'carry');
  const nearest = nearestWord(key, shown);
  const hint = [...(nearest === undefined ? [] : [`did you mean ${nearest}?`]), `known here: ${shown.join(', ')}`];
  return [problem([key], value, "no such key in a job's input", hint.join('\n'))];
}

function textProblems({ source, user, sshKey }: Readonly<Record<string, unknown>>): Problem[] {
  const problems: Problem[] = [...fingerprintProblems(['sshKey'], sshKey)];
  if (!isAbsent(source) && typeof source !== 'string')
    problems.push(problem(['source'], source, `${showValue(source)} is not text`));
  if (isAbsent(user)) return problems;
  if (typeof user !== 'string') problems.push(problem(['user'], user, `${showValue(user)} is not text`));
  else if (!isValidUser(user)) problems.push(problem(['user'], user, `${showValue(user)} is no user`, USER_RULE));
  return problems;
}

function fileProblems(files: unknown): Problem[] {
  if (isAbsent(files)) return [];
  if (!isMapping(files)) return [problem(['files'], files, `${showValue(files)} is not a section of PATH: SHA-256`)];
  return Object.entries(files).flatMap(([path, sha256]) =>
    typeof sha256 === 'string' && SHA256.test(sha256)
      ? []
      : [problem(['files', path], sha256, `${showValue(sha256)} is no SHA-256`, '64 hex digits, in small letters')],
  );
}

function keyProblems(keys: unknown): Problem[] {
  if (isAbsent(keys)) return [];
  if (isMapping(keys))
    return Object.entries(keys).flatMap(([path, key]) => fingerprintProblems(['identityKeys', path], key));
  return [problem(['identityKeys'], keys, `${showValue(keys)} is not a section of PATH: fingerprint`)];
}

function fingerprintProblems(path: readonly string[], value: unknown): Problem[] {
  if (isAbsent(value) || (typeof value === 'string' && FINGERPRINT.test(value))) return [];
  return [problem(path, value, `${showValue(value)} is no fingerprint of a key`, 'as `ssh-keygen -l` shows it')];
}

/** `null`, Python's None, counts as absent, as in a job file. */
const isAbsent = (value: unknown): boolean => value === undefined || value === null;

function problem(path: readonly string[], value: unknown, message: string, hint?: string): Problem {
  return { path: ['input', ...path], value, message, ...(hint === undefined ? {} : { hint }) };
}
