import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseAddresses, type AddressWishes, openReservations } from '../../cli/local/dev/addresses.js';
import { stackHome } from '../../cli/terminal/home.js';
import type { StackAddresses } from '../../cli/place/stack/stack-record.js';

describe('the addresses of two stacks that come up at the same time', () => {
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-addresses-'));
  after(() => rmSync(folder, { recursive: true }));

  const wishes = (more: Partial<AddressWishes> = {}): AddressWishes => ({
    running: new Set(),
    parts: ['server', 'rehearsal', 'worker'],
    onProgress: () => undefined,
    ...more,
  });
  const choose = (name: string, more?: Partial<AddressWishes>, reservations = openReservations()) =>
    chooseAddresses(stackHome({ JOBCTL_HOME: join(folder, name) }), reservations, wishes(more));
  const portsOf = ({ subnetOctet: _, ssh: __, ...ports }: StackAddresses): readonly number[] => Object.values(ports);

  it('a running worker that one of them starts again keeps its port, though nobody listens there for a moment', async () => {
    const chosen = openReservations();
    const known = await choose('first', {}, chosen);
    chosen.release();
    const again = openReservations();
    assert.deepEqual(
      await choose('first', { known, running: new Set(['server', 'rehearsal', 'worker']) }, again),
      known,
    );
    const other = openReservations();
    try {
      const beside = await choose('second', {}, other);
      assert.deepEqual(
        portsOf(beside).filter((port) => portsOf(known).includes(port)),
        [],
      );
    } finally {
      again.release();
      other.release();
    }
  });
});
