import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { CASES, DIFFERS, type GcloudCase } from './gcloud-requests/cases.js';
import { differences, matches, unexplained } from './gcloud-requests/compare.js';
import { ourBody } from './gcloud-requests/ours.js';

/** Bodies of gcloud 528 as it sent them to the rehearsal; gcloud-requests.live.test.ts records them and holds them to it. */
const RECORDED = JSON.parse(
  readFileSync(new URL('./gcloud-requests/recorded-528.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, unknown>>;

/** Both sides speak of a node alone where no queue is asked. */
const gcloudBody = (name: string, { command }: GcloudCase): unknown =>
  command === 'tpu-vm' ? { node: RECORDED[name] } : RECORDED[name];
const ours = (the: GcloudCase): unknown => (the.command === 'tpu-vm' ? { node: ourBody(the) } : ourBody(the));
const found = Object.entries(CASES).map(([name, the]) => ({
  name,
  the,
  rows: differences(gcloudBody(name, the), ours(the)),
}));

describe("requests of gcloud's and ours for the same slice", () => {
  it('are recorded for every kind', () => assert.deepEqual(Object.keys(RECORDED), Object.keys(CASES)));

  for (const { name, the, rows } of found)
    it(`${name}: equal, but for what a row of the allow list has a reason for`, () =>
      assert.deepEqual(unexplained(rows, the), []));

  it('no row of the allow lists is idle', () => {
    const all = found.flatMap(({ rows }) => rows.map(({ path }) => path));
    assert.deepEqual(
      Object.keys(DIFFERS).filter((row) => !all.some((path) => matches(row, path))),
      [],
    );
    for (const { name, the, rows } of found)
      for (const row of Object.keys(the.differs ?? {}))
        assert.ok(
          rows.some(({ path }) => path === row),
          `${name}: ${row}`,
        );
  });

  it('a field too few, too many or of another value is found', () => {
    const the = CASES['queued: spot'] as GcloudCase;
    const body = ourBody(the);
    const { spot: _, ...without } = body;
    const planted = [without, { ...body, guaranteed: {} }, { ...body, reservationName: 'r' }];
    const paths = planted.map((wrong) =>
      unexplained(differences(RECORDED['queued: spot'], wrong), the).map((row) => row.path),
    );
    assert.deepEqual(paths, [['spot'], ['guaranteed'], ['reservationName']]);
    const other = JSON.parse(JSON.stringify(body).replace('v5litepod-8', 'v5litepod-4')) as object;
    assert.deepEqual(
      unexplained(differences(RECORDED['queued: spot'], other), the).map((row) => row.path),
      ['node.acceleratorType'],
    );
  });
});
