import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Signals } from '../../client/cli/contract/signals.js';
import { until } from '../until.js';

describe('what ends the wait of jobctl contract for its slice', () => {
  let signals: Signals;
  beforeEach(() => (signals = new Signals(() => undefined)));
  afterEach(() => signals.close());

  it('its time is one cause, however often garbage is collected meanwhile; a signal behind it is the first', async () => {
    const time = signals.firstWithin(50);
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    await until('its time is over', () => {
      collect();
      return time.aborted;
    });
    process.emit('SIGTERM');
    assert.equal(signals.second.aborted, false);
  });

  it('a signal is the other, and the second one ends the deletion too', () => {
    const time = signals.firstWithin(1e9);
    process.emit('SIGHUP');
    assert.deepEqual([time.aborted, signals.second.aborted], [true, false]);
    process.emit('SIGHUP');
    assert.equal(signals.second.aborted, true);
  });
});
