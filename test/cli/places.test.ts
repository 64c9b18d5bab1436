import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { placesIn, publishedLines } from '../../cli/jobs/render-job-list.js';
import { poolLineObject } from '../../domain/store-layout.js';
import { row } from './rows.js';

describe('places in line over several pools', () => {
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-places-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const context = { store: { bucket: pathToFileURL(folder).href } };
  const publish = (pool: string, text: string): void => {
    const path = join(folder, poolLineObject(pool));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  const line = (pool: string, v = 1): string =>
    JSON.stringify({ v, pool, at: 0, epoch: 1, rows: [[`job-in-${pool}`, 0]], sentences: [['waits']] });
  const queued = (pool: string) => row({ id: `job-in-${pool}`, pool, phase: 'queued' });

  it('one that cannot be read, or is of a later version, takes no place from the others, and is named', async () => {
    publish('good', line('good'));
    publish('torn', '{"v": 1, "pool"');
    publish('later', line('later', 2));
    const lines = await publishedLines(['good', 'torn', 'later'], context);
    const places = await placesIn(lines, ['good', 'torn', 'later'].map(queued));
    assert.deepEqual([...places.byJob.keys()], ['job-in-good']);
    assert.match(
      places.missing ?? '',
      /^of torn: .*quota\/torn\/.*: not JSON.*; line of pool 'later': written in form 2/,
    );
  });
});
