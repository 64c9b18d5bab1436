import assert from 'node:assert/strict';
import { HostSilent, Patience } from '../../activities/attempt/unreachable-hosts.js';
import type { HostTarget } from '../../cloud/hosts/port.js';

const host = (index: number, slice = 0): HostTarget => ({
  reach: 'ssh',
  uid: 'n',
  slice,
  index,
  address: '10.0.0.1',
  user: 'bob',
});
const MINUTE = 60_000;

describe('the patience of a set-up', () => {
  it('ends after a quarter of an hour in which a host said nothing, each host for itself', () => {
    const patience = new Patience();
    patience.silent(host(0), 0);
    patience.silent(host(1), 5 * MINUTE);
    patience.silent(host(0), 14 * MINUTE);
    assert.throws(() => patience.silent(host(0), 15 * MINUTE), HostSilent);
    patience.silent(host(1), 19 * MINUTE);
  });

  it('is that with each slice, and says which host has used it up', () => {
    const patience = new Patience();
    patience.silent(host(1, 0), 0);
    patience.silent(host(1, 1), 14 * MINUTE);
    patience.silent(host(1, 1), 15 * MINUTE);
    assert.throws(
      () => patience.silent(host(1, 0), 15 * MINUTE),
      (error) => error instanceof HostSilent && error.name === 'HostSilent' && error.target.slice === 0,
    );
  });

  it('begins anew when the host was heard', () => {
    const patience = new Patience();
    patience.silent(host(0), 0);
    patience.heard(host(0));
    patience.silent(host(0), 20 * MINUTE);
    patience.silent(host(0), 34 * MINUTE);
    assert.throws(() => patience.silent(host(0), 35 * MINUTE), /has not answered over SSH for 15 minutes/);
  });
});
