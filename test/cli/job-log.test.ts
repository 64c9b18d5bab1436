import assert from 'node:assert/strict';
import { jobLogForm, openJobLog } from '../../cli/jobs/watch/job-log.js';
import { jobEventsObject, jobLogPrefix } from '../../domain/store-layout.js';
import { MapStore } from './map-store.js';

describe('logs --job', () => {
  const at = Date.UTC(2026, 10, 22);
  const event = { at, kind: 'resumed', facts: { by: 'alice' }, text: 'alice resumed it' } as const;
  const store = new MapStore();
  store.put(`${jobLogPrefix('j')}0`, '2026-11-22T00:00:00.000Z alice resumed it\n');
  store.put(jobEventsObject('j'), `${JSON.stringify(event)}\n`);

  it('prints the stored lines, or each event as JSON, of an open job as of an ended one', async () => {
    for (const [isJson, want] of [
      [false, '2026-11-22T00:00:00.000Z alice resumed it\n'],
      [true, '{"at":1795305600000,"text":"alice resumed it","kind":"resumed","facts":{"by":"alice"}}\n'],
    ] as const) {
      const { line, stored } = jobLogForm(store, 'j', isJson);
      assert.equal(await stored(), want);
      const client = { describe: async () => ({ events: [event] }) } as unknown as Parameters<typeof openJobLog>[0];
      const open = await openJobLog(client, 'j', { known: (events) => events.map(line).join(''), stored });
      if (isJson) assert.deepEqual(JSON.parse(open), JSON.parse(want));
      else assert.equal(open, want);
    }
  });
});
