import { NEEDED_SECTION } from '../domain/job-file-lists.js';

const EXAMPLE = '  start the workflow with one argument: {"v": 1, "job": {"tpu": {..}, "command": {..}}}';
const VERSIONS = '  known: 1, a whole number; a later one needs later workers (docs/contract.md, "Versions")';
const MESSAGES: Readonly<Record<string, readonly string[]>> = {
  'no-argument': ['input: is missing', EXAMPLE],
  none: ['input: is missing', EXAMPLE],
  'job-file-alone': ['input.v: is missing', EXAMPLE],
  'two-arguments': ['input.v: is missing', EXAMPLE],
  'version-as-text': ["input.v: '1' is not a version of a job's input that this worker knows", VERSIONS],
  'later-version': ["input.v: 2 is not a version of a job's input that this worker knows", VERSIONS],
  'job-missing': [
    "input.spec: no such key in a job's input",
    '  known here: v, job, source, user, files, sshKey, identityKeys, member, authorization',
    'input.job: is missing',
    EXAMPLE,
  ],
  'job-none': ['input.job: is missing', EXAMPLE],
  'integer-as-text': [
    "priority: '3' is not a whole number from 1 to 5",
    "slices: '2' is not a whole number from 1 to 256",
  ],
  'float-for-integer': ['slices: 1.5 is not a whole number from 1 to 256'],
  'none-for-a-section': ['tpu: is missing', `  ${NEEDED_SECTION}`],
  'env-with-none': ["env.A: null is not text, a number, true or false ('' for an empty text)"],
  'tuple-for-text': ['command.run: ["python","train.py"] is not text', '  a line is wanted: python train.py'],
  'environment-reference': [
    "env.A: '${oc.env:HOME}' needs the submitter's environment",
    '  only `jobctl submit` and JobClient read the environment; give the value itself',
  ],
  carry: ['input.carry: is set by the workflow itself, when it continues as new'],
};

/** What contract_bad_inputs.py prints: all that the author of a Python service is told of each wrong input. */
export const BAD_INPUTS_FROM_PYTHON = Object.fromEntries(
  Object.entries(MESSAGES).map(([name, lines]) => [name, { type: 'InvalidJob', message: lines.join('\n') }]),
);
