import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Signals } from '../../cli/doctor/contract/slice-life.js';
import { until } from '../until.js';

describe('what ends the wait of jobctl contract for its slice', () => {
  /** Not the process: Temporal's runtime ends it at a signal. */
  const source = new EventEmitter();
  let signals: Signals;
  beforeEach(() => (signals = new Signals(() => undefined, source)));
  afterEach(() => signals.close());

  it('its time is one cause, however often garbage is collected meanwhile; a signal behind it is the first', async () => {
    const time = signals.firstWithin(50);
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    await until('its time is over', () => {
      collect();
      return time.aborted;
    });
    source.emit('SIGTERM');
    assert.equal(signals.second.aborted, false);
  });

  it('a signal is the other, and the second one ends the deletion too', () => {
    const time = signals.firstWithin(1e9);
    source.emit('SIGHUP');
    assert.deepEqual([time.aborted, signals.second.aborted], [true, false]);
    source.emit('SIGHUP');
    assert.equal(signals.second.aborted, true);
  });
});
