import assert from 'node:assert/strict';
import { parseJobFile, parseJobFlags } from '../domain/job-file/parse.js';
import { splitShellWords } from '../domain/shell-quote.js';

/** The job file that a message holds. */
export function printedJob(said: string): string | undefined {
  const lines = said.split('\n');
  const from = lines.findIndex((line) => line.trim() === 'in a job file it is:');
  const indent = `${/^ */.exec(lines[from] ?? '')?.[0] ?? ''}  `;
  if (from === -1) return undefined;
  const rest = lines.slice(from + 1);
  const length = rest.findIndex((line) => line !== '' && !line.startsWith(indent));
  const own = length === -1 ? rest : rest.slice(0, length);
  return own.map((line) => line.slice(indent.length)).join('\n');
}

/** What whoever pastes the lines writes for what they leave open. */
const FILLED: readonly (readonly [RegExp, string])[] = [
  [/\bzone: \.\./g, 'zone: us-central2-b'],
  [/\bimage: \.\./g, 'image: some/image'],
  [/\bgpu_type: \.\./g, 'gpu_type: some'],
  [/\bpricing: \.\./g, 'pricing: any'],
  [/\bray_version: \.\./g, 'ray_version: 2.60.0'],
  [/\bmax: \.\./g, 'max: 4'],
  [/\bslices: \.\./g, 'slices: 2'],
  [/\baccelerator: \.\./g, 'accelerator: v4-8'],
  [/, topology: \.\./g, ', topology: 2x4'],
  [/\b(run|install): \.\./g, '$1: hostname'],
];
const filled = (text: string): string => FILLED.reduce((job, [from, to]) => job.replaceAll(from, to), text);

/** Feeds what a message holds to the readers of `validate` and `submit`: a job file, or a line of flags. */
export function assertPrintedIsValid(said: string): void {
  const file = printedJob(said);
  if (file !== undefined) {
    const job = parseJobFile(filled(file), { file: 'job.yaml', env: {} });
    assert.ok(job.ok, job.ok ? '' : `${JSON.stringify(job.problems)}\n${filled(file)}`);
  }
  for (const [, line = ''] of said.matchAll(/jobctl submit (--tpu [^`\n]*)/g)) {
    const words = splitShellWords(line) ?? [];
    const end = words.indexOf('--');
    const [own, run] = [words.slice(0, end), words.slice(end + 1)];
    const all = (flag: string): readonly string[] => own.flatMap((word, at) => (own[at - 1] === flag ? [word] : []));
    const name = all('--name')[0];
    const job = parseJobFlags({
      file: line,
      env: {},
      set: all('--set'),
      tree: {
        tpu: { accelerator: all('--tpu')[0], zone: 'us-central2-b' },
        ...(name !== undefined && { name }),
        slices: Number(all('--slices')[0] ?? 1),
        bundle: { dir: '.' },
        command: { run: run.join(' ') },
      },
    });
    assert.ok(job.ok, job.ok ? '' : `${JSON.stringify(job.problems)}\n${line}`);
  }
}
