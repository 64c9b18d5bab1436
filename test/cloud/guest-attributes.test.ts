import assert from 'node:assert/strict';
import { guestFacts } from '../../cloud/machines/cloud-tpu/guest-attributes.js';

const item = (namespace: string, key: string, value: string): object => ({ namespace, key, value });

describe('what a VM wrote into its guest attributes', () => {
  it('has its host keys, as known_hosts writes them, and its name; and whatever else it is', () => {
    const items = [
      item('hostkeys', 'ssh-ed25519', ' AAAA1\n'),
      item('hostkeys', 'ecdsa-sha2-nistp256', 'AAAA2'),
      item('guestInventory', 'kernel', '6.1'),
      item('tpu', 'hostname', 't1v-n-0'),
    ];
    assert.deepEqual(guestFacts({ queryValue: { items } }), {
      hostKeys: ['ssh-ed25519 AAAA1', 'ecdsa-sha2-nistp256 AAAA2'],
      hostname: 't1v-n-0',
    });
  });

  it('is nothing before its agent is up', () => {
    const none = { hostKeys: [] };
    assert.deepEqual(guestFacts({}), none);
    assert.deepEqual(guestFacts({ queryValue: {} }), none);
    assert.deepEqual(guestFacts({ queryValue: { items: [item('tpu', 'hostname', '')] } }), none);
    const unwritten = [item('hostkeys', 'ssh-ed25519', ' \n'), { namespace: 'hostkeys', key: 'ssh-rsa' }];
    assert.deepEqual(guestFacts({ queryValue: { items: unwritten } }), none);
  });
});
