import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { runRequest } from '../../activities/attempt/run-request.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { runEnvironment } from '../../domain/run-environment.js';

const page = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');

/** Rows of the table of variables in job-file.md, as lists of names. */
const rows = (/## What the command finds.*?\n\|.*?\n\| ---.*?\n(.*?)\n\n/s.exec(page('job-file.md'))?.[1] ?? '')
  .split('\n')
  .map((row) => [...(row.split('|')[1] ?? '').matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name = '']) => name));

const job = (keys: object) =>
  resolveJob({ tpu: { accelerator: 'v4-8', zone: 'us-central2-b' }, command: { run: 'x' }, ...keys });
const slice = {
  index: 0,
  name: 'n',
  zone: 'us-central2-b',
  hosts: [{ reach: 'ssh' as const, index: 0, internalIp: '10.0.0.1' }],
};
const environmentOf = (spec: JobSpec) =>
  runEnvironment(spec, { job: 'j', attempt: 1, bucket: 'b', slices: [slice] }, 0, 0);

/** A job file is the only door to these: what the pages say of them is tried through it. */
describe('what the docs say of variables', () => {
  it('has a table', () => assert.ok(rows.length >= 10 && rows.flat().length >= 20, String(rows)));

  for (const name of rows.slice(-2).flat())
    it(`${name} in env of a job file wins`, () => {
      const answer = job({ env: { [name]: 'mine' } });
      assert.ok(answer.ok, JSON.stringify(answer));
      assert.equal(environmentOf(answer.spec)[name], 'mine');
    });

  /** The stored file of a member has them, and may be submitted alone. */
  const isOfArray = (name: string): boolean => name.startsWith('JOBCTL_ARRAY_');
  it('those of an array are taken from env', () => {
    const names = rows.flat().filter(isOfArray);
    assert.ok(names.length >= 2, String(names));
    for (const name of names) assert.ok(job({ env: { [name]: '1' } }).ok, name);
  });

  for (const name of rows
    .slice(0, -2)
    .flat()
    .filter((each) => !isOfArray(each)))
    it(`${name} in env of a job file is refused`, () => {
      const answer = job({ env: { [name]: 'mine' } });
      assert.match(answer.ok ? '' : JSON.stringify(answer.problems), /is set by jobctl/);
    });

  it('no page tells anybody to set what a job file refuses', () => {
    const pages = readdirSync(new URL('../../docs', import.meta.url)).filter((name) => name.endsWith('.md'));
    const told = pages.flatMap((name) =>
      [
        ...page(name).matchAll(
          /`((?:JOBCTL|MEGASCALE)_\w+)`(?: in|,? set in)[^.|]{0,30}`env`|env: *\{ *((?:JOBCTL|MEGASCALE)_\w+)/g,
        ),
      ].map(([, one, other]) => `${name}: ${one ?? other}`),
    );
    assert.deepEqual(told, []);
  });

  const waits: Record<string, { keys: object; want: number | undefined }> = {
    'a minute without a word': { keys: {}, want: undefined },
    'no look': { keys: { timeouts: { device: 0 } }, want: 0 },
    'five minutes': { keys: { timeouts: { device: '5m' } }, want: 300_000 },
  };
  for (const [name, { keys, want }] of Object.entries(waits))
    it(`timeouts.device of a job file reaches the host: ${name}`, () => {
      const answer = job(keys);
      assert.ok(answer.ok, JSON.stringify(answer));
      const sources = {
        store: { bucket: 'b', objectUrl: () => 'u', uploadUrl: () => 'u' },
        installation: { owner: 'o', sshKey: undefined },
        proofOf: () => 'p',
      };
      const input = {
        job: { id: 'j', run: 'r' },
        attempt: 1,
        spec: answer.spec,
        slices: [{ ...slice, ref: { kind: 'tpu', node: 'n', zone: 'us-central2-b', project: 'p' } }],
        settings: { timings: { signOfLifeMs: 1 } },
      };
      const host = { number: 0, target: { reach: 'ssh', slice: 0, index: 0 } };
      const { accelerator } = runRequest(sources as never, input as never, host as never, 'x');
      assert.equal(accelerator?.waitMs, want);
    });
});
