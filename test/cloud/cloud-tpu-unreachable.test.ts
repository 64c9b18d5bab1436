import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { createCloudTpu } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import { ownership, slicePlan } from './cloud-tpu-plan.js';

describe('the Cloud TPU adapter without an API', () => {
  it('nobody listening is unanswered for a create, unavailable for a look', async () => {
    const port = createCloudTpu({ endpoint: { host: '127.0.0.1', port: 1, insecure: true } });
    const wanted = slicePlan('s', 'queued-resources');
    assert.equal((await port.create(wanted)).kind, 'unanswered');
    await assert.rejects(port.observe(wanted), { name: 'CloudUnavailable', message: /ECONNREFUSED/ });
    await port.close();
  });

  it('somebody else listening is no answer either', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined).resume();
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, insecure: true };
    const port = createCloudTpu({ endpoint, callTimeoutMs: 500 });
    await assert.rejects(port.observe(slicePlan('s', 'queued-resources')), { name: 'CloudUnavailable' });
    await port.close();
    await new Promise((resolve) => server.close(resolve));
  });

  it('missing credentials are told as such, and end no process', async () => {
    const kept = process.env['GOOGLE_APPLICATION_CREDENTIALS'];
    process.env['GOOGLE_APPLICATION_CREDENTIALS'] = '/nonexistent/key.json';
    try {
      const port = createCloudTpu();
      const wanted = slicePlan('s', 'queued-resources');
      await assert.rejects(port.observe(wanted), {
        name: 'CloudRefused',
        message: /no Google credentials .*key\.json.*: run 'gcloud auth application-default login'/,
      });
      const answer = await port.create(wanted);
      assert.ok(answer.kind === 'refused' && answer.scope === 'installation', JSON.stringify(answer));
      await port.close();
    } finally {
      if (kept === undefined) delete process.env['GOOGLE_APPLICATION_CREDENTIALS'];
      else process.env['GOOGLE_APPLICATION_CREDENTIALS'] = kept;
    }
  });

  it('labels that Google cannot hold are refused before anything is sent', async () => {
    const port = createCloudTpu({ endpoint: { host: '127.0.0.1', port: 1, insecure: true } });
    const wanted = slicePlan('s', 'tpu-vm', { ownership: ownership({ job: 'Not A Label' }) });
    const answer = await port.create(wanted);
    assert.ok(answer.kind === 'refused' && answer.scope === 'request', JSON.stringify(answer));
    await port.close();
  });

  it('a closed port answers no more', async () => {
    const port = createCloudTpu({ endpoint: { host: '127.0.0.1', port: 1, insecure: true } });
    await port.close();
    const watch = port.watch(slicePlan('s', 'queued-resources'), {
      isUrgent: true,
      signal: new AbortController().signal,
    });
    await assert.rejects(watch, { name: 'CloudUnavailable' });
  });
});
