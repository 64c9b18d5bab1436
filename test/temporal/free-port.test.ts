import assert from 'node:assert/strict';
import { freePort } from '../temporal-server.js';

describe('the ports that tests give to servers', () => {
  it('are given once: a server with two of them never has one twice', async () => {
    const CALLS = 1_000;
    const ports = new Set<number>();
    for (let i = 0; i < CALLS; i++) ports.add(await freePort());
    assert.equal(ports.size, CALLS);
  });
});
