import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { type Cluster, openCluster } from '../../cloud/machines/kubernetes/cluster.js';
import * as library from '../../cloud/machines/kubernetes/library.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('the connection to an API server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubernetes-connection-'));
  const ports = new Set<number | undefined>();
  let server: Server;
  let cluster: Cluster;
  before(async () => {
    const altNames = [{ type: 7 as const, ip: '127.0.0.1' }];
    const { private: key, cert } = await generate([{ name: 'commonName', value: 'api' }], {
      keyType: 'ec',
      extensions: [{ name: 'subjectAltName', altNames }],
    });
    server = createServer({ key, cert }, (request, response) => {
      ports.add(request.socket.remotePort);
      response.setHeader('content-type', 'application/json').end('{"major":"1","minor":"34"}');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const kubeconfig = join(folder, 'config');
    const config = {
      clusters: [{ name: 'c', cluster: { server: url, 'certificate-authority-data': base64(cert) } }],
      users: [{ name: 'u', user: { token: 'one' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    writeFileSync(kubeconfig, JSON.stringify(config));
    cluster = openCluster(library, { kubeconfig });
  });
  after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });

  it('is kept from one call to the next, and is another one with other credentials', async () => {
    for (let call = 0; call < 3; call++) await cluster.version.getCode();
    assert.equal(ports.size, 1);
    const { cert: other } = await generate([{ name: 'commonName', value: 'other' }], { keyType: 'ec' });
    Object.assign(cluster.config.getCurrentCluster() ?? {}, { caData: base64(other) });
    // Which do not trust it: it would answer over the connection that is there.
    await assert.rejects(cluster.version.getCode(), /self-signed certificate|unable to verify/);
  });
});
