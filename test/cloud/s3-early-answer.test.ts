import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { S3Store } from '../../cloud/store/s3.js';
import { setEnvironment } from '../cli/command-line.js';

describe('an S3 server that answers before it has read what is sent, and closes', () => {
  it('is in trouble, and ends no process', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write('HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n\r\n', () => socket.destroy());
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const before = { ...process.env };
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_REGION: 'us-east-1' });
    try {
      const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const timing = { requestMs: 5_000, totalMs: 5_000, pauseMs: 1 };
      const store = new S3Store({ bucket: 'jobs', prefix: '', endpoint, timing });
      for (let tries = 0; tries < 3; tries++)
        await assert.rejects(store.write('jobs/a', Buffer.alloc(16_000_000), 'absent'), { name: 'StoreUnavailable' });
      // What comes late comes to nobody.
      await sleep(100);
    } finally {
      setEnvironment(before);
      server.close();
    }
  });
});
