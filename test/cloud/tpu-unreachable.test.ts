import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { createTpuPort } from '../../cloud/tpu/google-tpu.js';
import { ownership, slicePlan } from './slice-plan.js';

describe('TpuPort without an API', () => {
  it('nobody listening is unanswered for a create, unavailable for a look', async () => {
    const port = createTpuPort({ endpoint: { host: '127.0.0.1', port: 1, insecure: true } });
    const wanted = slicePlan('s', 'queued-resources');
    assert.equal((await port.createSlice(wanted)).kind, 'unanswered');
    await assert.rejects(port.observeSlice(wanted.ref), { name: 'CloudUnavailable', message: /ECONNREFUSED/ });
    await port.close();
  });

  it('somebody else listening is no answer either', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined).resume();
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, insecure: true };
    const port = createTpuPort({ endpoint, callTimeoutMs: 500 });
    await assert.rejects(port.observeSlice(slicePlan('s', 'queued-resources').ref), { name: 'CloudUnavailable' });
    await port.close();
    await new Promise((resolve) => server.close(resolve));
  });

  it('missing credentials are told as such, and end no process', async () => {
    const kept = process.env['GOOGLE_APPLICATION_CREDENTIALS'];
    process.env['GOOGLE_APPLICATION_CREDENTIALS'] = '/nonexistent/key.json';
    try {
      const port = createTpuPort();
      const wanted = slicePlan('s', 'queued-resources');
      await assert.rejects(port.observeSlice(wanted.ref), {
        name: 'CloudRefused',
        message: /no Google credentials .*key\.json.*: run 'gcloud auth application-default login'/,
      });
      const answer = await port.createSlice(wanted);
      assert.ok(answer.kind === 'refused' && answer.reason === 'permission', JSON.stringify(answer));
      await port.close();
    } finally {
      if (kept === undefined) delete process.env['GOOGLE_APPLICATION_CREDENTIALS'];
      else process.env['GOOGLE_APPLICATION_CREDENTIALS'] = kept;
    }
  });

  it('labels that Google cannot hold are refused before anything is sent', async () => {
    const port = createTpuPort({ endpoint: { host: '127.0.0.1', port: 1, insecure: true } });
    const wanted = slicePlan('s', 'tpu-vm', { ownership: ownership({ job: 'Not A Label' }) });
    const answer = await port.createSlice(wanted);
    assert.ok(answer.kind === 'refused' && answer.reason === 'bad-request', JSON.stringify(answer));
    await port.close();
  });

  it('a closed port answers no more', async () => {
    const port = createTpuPort({ endpoint: { host: '127.0.0.1', port: 1, insecure: true } });
    await port.close();
    const { ref } = slicePlan('s', 'queued-resources');
    const watch = port.watchSlice(ref, { isUrgent: true, signal: new AbortController().signal });
    await assert.rejects(watch, { name: 'CloudUnavailable' });
  });
});
