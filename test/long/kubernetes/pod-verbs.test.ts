import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PodTarget } from '../../../cloud/hosts/port.js';
import { onEachHost, type PodReach } from '../../../cli/jobs/hosts/reach.js';
import { fetchFile, remoteFiles } from '../../../cli/jobs/hosts/remote-files.js';
import { forwardToPod, podShell } from '../../../cli/jobs/hosts/shell.js';
import type { JobHost } from '../../../cli/jobs/hosts/job-hosts.js';
import { SafeFolder } from '../../../cli/terminal/safe-folder.js';
import { never } from '../../hosts/session.js';
import { until } from '../../until.js';
import { PodsForTest } from './pod-cluster.js';
import { debianImage } from './pod-images.js';

describe('the verbs for hosts, on pods of a real Kubernetes', function () {
  this.timeout(300_000);
  let pods: PodsForTest;
  let reach: PodReach;
  before(async () => {
    pods = new PodsForTest();
    process.env['KUBECONFIG'] = pods.kubeconfig;
    const image = await debianImage(pods.cluster);
    await pods.open();
    const targets = await Promise.all([0, 1].map(async (index) => ({ ...(await pods.pod(image)), index })));
    const hosts = targets.map((target, number): JobHost<PodTarget> => ({ number, node: 'train', target }));
    reach = { by: 'exec', job: 'train-x1', context: { temporal: {} }, hosts };
  });
  after(() => pods?.close());

  it('exec and cp reach every pod, without a key and without a login', async () => {
    const results = await onEachHost(reach, never, async (connection) => {
      let out = '';
      const take = (chunk: Buffer): void => void (out += chunk.toString());
      const { code } = await connection.exec('bash -lc "hostname; exit 3"', {
        onStdout: take,
        onStderr: take,
        signal: never,
      });
      return [out.trim(), code];
    });
    const pod = (at: number): string => reach.hosts[at]?.target.pod ?? '';
    const said = results.map((result) => (result.kind === 'done' ? result.value : result.message));
    assert.deepEqual(said, [
      [pod(0), 3],
      [pod(1), 3],
    ]);
    const folder = mkdtempSync(join(tmpdir(), 'pod-verbs-'));
    try {
      await onEachHost({ ...reach, hosts: reach.hosts.slice(0, 1) }, never, async (connection) => {
        await connection.putFile(Buffer.from('content'), 'out/a.txt', { mode: 0o600, signal: never });
        for (const file of await remoteFiles(connection, 'out', never))
          await fetchFile(connection, file, { folder: new SafeFolder(folder), name: `out/${file.below}` }, never);
      });
      assert.equal(readFileSync(join(folder, 'out/a.txt'), 'utf8'), 'content');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('ssh runs a command by exec, and refuses options of ssh', async () => {
    const one = { ...reach, hosts: reach.hosts.slice(0, 1) };
    await assert.rejects(podShell(one, ['-L', '1:localhost:2']), /option of ssh, and the hosts of train-x1 are pods/);
  });

  it('port-forward connects a port here with one of a pod', async () => {
    const [host] = reach.hosts;
    assert.ok(host);
    const connection = await pods.connect(host.target);
    const server = `use IO::Socket::INET; my $l = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 8123, Listen => 5, ReuseAddr => 1) or die;
while (my $c = $l->accept) { my $line = <$c>; print $c "you said $line"; close $c; }`;
    const serving = new AbortController();
    const served = connection
      .exec(`perl -e '${server}'`, { onStdout: () => undefined, onStderr: () => undefined, signal: serving.signal })
      .catch(() => undefined);
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const local = (probe.address() as AddressInfo).port;
    probe.close();
    const end = new AbortController();
    const forwarding = forwardToPod({ ...reach, hosts: [host] }, { local, remote: 8123 }, end.signal);
    try {
      await until('an answer', async () => {
        const socket = connect(local, '127.0.0.1');
        socket.on('error', () => undefined).write('hello\n');
        let heard = '';
        socket.on('data', (chunk: Buffer) => (heard += chunk.toString()));
        await Promise.race([
          once(socket, 'close'),
          until('a line', () => heard.includes('\n'), 3_000).catch(() => undefined),
        ]);
        socket.destroy();
        return heard === 'you said hello\n';
      });
    } finally {
      end.abort();
      serving.abort();
      await Promise.all([forwarding, served]);
    }
  });
});
