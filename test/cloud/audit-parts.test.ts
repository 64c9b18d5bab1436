import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as library from '@kubernetes/client-node';
import type { AuditedResource, OnUnread } from '../../cloud/machines/audited-resource.js';
import { listEveryVm } from '../../cloud/machines/compute-engine/audit.js';
import { listNamespaceForAudit } from '../../cloud/machines/kubernetes/audit.js';

interface Answer {
  readonly status?: number;
  readonly body?: object;
}
type Listing = (endpoint: string, onUnread?: OnUnread) => Promise<readonly AuditedResource[]>;

const vm = (name: string) => ({ name, zone: 'zones/us-central1-a' });
const ofZones = (...names: readonly string[]) => ({ 'zones/us-central1-a': { instances: names.map(vm) } });
const object = (name: string) => ({ metadata: { name, labels: {} } });

describe('the audit of machines that are no TPUs: what cannot be read hides nothing of the rest', () => {
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-audit-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  const vms: Listing = (restEndpoint, onUnread) => listEveryVm({ restEndpoint, googleProject: 'p' }, onUnread);
  const pods: Listing = (server, onUnread) => {
    const file = join(folder, 'kubeconfig');
    const config = {
      clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: {} }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'c',
    };
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...config }));
    return listNamespaceForAudit(library, 'c/ns', 'kubernetes', file, onUnread);
  };

  /** Answers by the last part of the path, and a page's token behind it. */
  const cases: Record<string, [Listing, Record<string, Answer>, string[], string[]]> = {
    'VMs of a zone that is not reached': [
      vms,
      { instances: { body: { items: ofZones('a'), unreachables: ['zones/z9'] } } },
      ['a'],
      ['VMs in z9'],
    ],
    'VMs of a zone of which a warning says so': [
      vms,
      { instances: { body: { items: { ...ofZones('a'), 'zones/z9': { warning: { code: 'UNREACHABLE' } } } } } },
      ['a'],
      ['VMs in z9'],
    ],
    'a later page of VMs': [
      vms,
      { instances: { body: { items: ofZones('a'), nextPageToken: 't' } }, 'instances t': { status: 503 } },
      ['a'],
      ['VMs'],
    ],
    'one kind of objects': [
      pods,
      { jobs: { body: { items: [object('j')] } }, pods: { status: 403 }, services: { body: { items: [object('s')] } } },
      ['j', 's'],
      ['pods'],
    ],
    'a later page of objects': [
      pods,
      { jobs: { body: { items: [object('j')], metadata: { continue: 't' } } }, 'jobs t': { status: 500 } },
      ['j'],
      ['jobs'],
    ],
  };
  for (const [name, [list, answers, wantFound, wantUnread]] of Object.entries(cases))
    it(name, async () => {
      const server = createServer((request, response) => {
        const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
        const token = searchParams.get('pageToken') ?? searchParams.get('continue') ?? '';
        const key = `${pathname.slice(pathname.lastIndexOf('/') + 1)} ${token}`.trim();
        const { status = 200, body = {} } = answers[key] ?? {};
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      try {
        const unread: string[] = [];
        const found = await list(endpoint, (part) => void unread.push(part));
        assert.deepEqual([found.map((each) => each.name), unread], [wantFound, wantUnread]);
        await assert.rejects(list(endpoint), 'who asks for all of it gets no part');
      } finally {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    });
});
