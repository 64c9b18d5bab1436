import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { openTarget, type Target } from '../../rehearsal/test/conformance/gcloud/target.js';
import { argumentsOf, bodyIn, CASES, WITHOUT_KEY } from './gcloud-requests/cases.js';

const FILE = new URL('./gcloud-requests/recorded-528.json', import.meta.url);

/** Each command takes a second, most of it Python's start. JOBCTL_RECORD_GCLOUD=1 writes the recording anew. */
describe("gcloud's create requests, as recorded", function () {
  this.timeout(300_000);
  let target: Target;
  before(async () => {
    target = await openTarget();
  });
  after(() => target?.stop());

  it('are what this gcloud sends', async () => {
    const bodies: Record<string, unknown> = {};
    for (const [name, wanted] of Object.entries(CASES))
      bodies[name] = bodyIn((await target.gcloud.run(...argumentsOf(wanted))).stderr);
    if (process.env['JOBCTL_RECORD_GCLOUD'] === '1') writeFileSync(FILE, `${JSON.stringify(bodies, undefined, 2)}\n`);
    assert.deepEqual(bodies, JSON.parse(readFileSync(FILE, 'utf8')));
  });

  for (const command of ['queued-resources', 'tpu-vm'] as const)
    it(`every flag of ${command} create is in a request, or has a reason why no key stands for it`, async () => {
      const { stdout } = await target.gcloud.run('alpha', 'compute', 'tpus', command, 'create', '--help');
      const [, synopsis = ''] = /SYNOPSIS\n([^]*?)\nDESCRIPTION/.exec(stripVTControlCharacters(stdout)) ?? [];
      const flags = [...new Set(synopsis.match(/--[a-z][a-z-]*[a-z]/g) ?? [])];
      assert.ok(flags.length > 20, synopsis);
      const used = Object.values(CASES).flatMap((wanted) => argumentsOf(wanted).map((flag) => flag.split('=')[0]));
      assert.deepEqual(
        flags.filter((flag) => !used.includes(flag) && WITHOUT_KEY[flag] === undefined),
        [],
      );
    });
});
