import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { inLoginShell, LOGIN_SHELL } from '../../cloud/hosts/login-shell.js';
import { createPodHosts } from '../../cloud/hosts/pod-fleet.js';
import { type HostConnection, HostUnreachable, type PodTarget } from '../../cloud/hosts/port.js';
import { openCluster } from '../../cloud/machines/kubernetes/cluster.js';
import * as library from '../../cloud/machines/kubernetes/library.js';
import type { PodsForTest } from '../long/kubernetes/pod-cluster.js';
import { until } from '../until.js';
import { OutputsInMemory, outputsByWorker } from './outputs-taker.js';
import { ended, NOTICE, outputOf, request } from './run.js';
import { never } from './session.js';
import { startTcpCutter } from './tcp-cutter.js';

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

/** 1.5 MB that differ everywhere: more than is held in one place. */
const LINES = Array.from(
  { length: 30_000 },
  (_, at) => `line ${at} ${(at * 2_654_435_761) % 4_294_967_296} ${'y'.repeat(24)}\n`,
);
const PRINT_LINES = `awk 'BEGIN { for (at = 0; at < 30000; at++) printf "line %d %.0f yyyyyyyyyyyyyyyyyyyyyyyy\\n", at, (at * 2654435761) % 4294967296 }'`;

/** All that a command in a pod wrote, stdout and stderr. */
export async function podOutput(connection: HostConnection, command: string, stdin?: Buffer): Promise<string> {
  let out = '';
  const take = (chunk: Buffer): void => void (out += chunk.toString());
  await connection.exec(command, { onStdout: take, onStderr: take, signal: never, ...(stdin && { stdin }) });
  return out;
}

/** What pods must do as hosts, whichever Kubernetes has them. @param image with bash, coreutils and util-linux */
export function exercisePods(open: () => Promise<{ readonly pods: PodsForTest; readonly image: string }>): void {
  let pods: PodsForTest;
  let image: string;
  before(async () => {
    ({ pods, image } = await open());
  });
  after(() => pods?.close());

  describe('a command', () => {
    let target: PodTarget;
    let connection: HostConnection;
    before(async () => {
      target = await pods.pod(image);
      connection = await pods.connect(target);
    });

    it("runs once, by the image's user and home, and ends with its code: 0, 7, a signal", async () => {
      assert.equal(
        await outputOf(connection, 'id -un; pwd; echo $ODD', { env: { ODD: "it's" } }),
        "root\n/root\nit's\n",
      );
      const { code, host } = await ended(connection);
      assert.deepEqual({ code, host }, { code: 0, host: 'up' });
      const again = await connection.startRun(request('echo never'));
      assert.equal(again.kind, 'exited');
      assert.equal(await podOutput(connection, 'wc -l < ~/.jobctl/starts.log'), '1\n');
      await connection.startRun(request('exit 7', { runId: 'train-x1-a2', epoch: 2 }));
      assert.equal((await ended(connection, 'train-x1-a2')).code, 7);
      await connection.startRun(request('kill -KILL $$', { runId: 'train-x1-a3', epoch: 3 }));
      const killed = await ended(connection, 'train-x1-a3');
      assert.deepEqual([killed.code, killed.signal, killed.killedForMemory], [137, 'SIGKILL', undefined]);
    });

    it("finds the programs of its image's own PATH first, whatever /etc/profile says", async () => {
      const value = '/opt/own/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
      const own = await pods.connect(await pods.pod(image, { env: [{ name: 'PATH', value }] }));
      const isOwn = /^\/opt\/own\/bin:\/usr\/local\/sbin:.*\n0\n$/;
      const script = 'echo "$PATH"; env | grep -c JOBCTL_EACH';
      assert.match(await outputOf(own, script), isOwn);
      let printed = '';
      const listener = { onOutput: (_: string, chunk: Buffer) => void (printed += chunk.toString()) };
      const check = 'case $PATH in /opt/own/bin:*) ;; *) false ;; esac';
      const plan = { name: 'own', fingerprint: '1', check, steps: [{ name: 'a', script: `${script} || true` }] };
      assert.deepEqual(await own.applyModules([plan], listener, never), [{ kind: 'done', module: 'own' }]);
      assert.match(printed, isOwn);
      assert.deepEqual(await own.applyModules([plan], listener, never), [{ kind: 'unchanged', module: 'own' }]);
      // As `jobctl exec` and `jobctl ssh` do.
      assert.match(await podOutput(own, inLoginShell(script)), isOwn);
      assert.match(await podOutput(own, `echo '${script}' | ${LOGIN_SHELL}`), isOwn);
    });

    it('that leaves a process running has it ended and named, with its number in the pod', async () => {
      const bare =
        '(setsid env -i bash -c "echo \\$\\$ > $PWD/bare-pid; exec sleep 2001" < /dev/null > /dev/null 2>&1 &)';
      const script = `setsid sleep 2000 < /dev/null & echo $! > left-pid; ${bare}; until [ -s bare-pid ]; do sleep 0.1; done; echo up`;
      await connection.startRun(request(script, { runId: 'left-a1', graceMs: 500 }));
      const { code, left } = await ended(connection, 'left-a1');
      const numbers = (await podOutput(connection, 'cat ~/left-pid ~/bare-pid')).trim().split('\n').map(Number);
      const named = numbers.map((pid, index) => ({ pid, command: `sleep ${2000 + index}` }));
      assert.deepEqual([code, left], [0, { count: 2, named: named.toSorted((a, b) => a.pid - b.pid) }]);
      const lines = left?.named.map(({ pid, command }) => `jobctl:   ${pid} ${command}\n`).join('');
      const text = `jobctl: the command's shell has ended with code 0, and what it had started still ran and was ended (command.wait_for: all waits for it):\n${lines}`;
      assert.equal(await podOutput(connection, 'cat ~/.jobctl/runs/left-a1/output'), `up\n${text}`);
      await until('the log of the pod has it', async () =>
        (await pods.logs(target)).includes(text) ? true : undefined,
      );
    });

    it('prints 1.5 MB that arrive whole and that `kubectl logs` shows', async () => {
      const whole = LINES.join('');
      await connection.startRun(request(PRINT_LINES, { runId: 'loud-a1' }));
      const chunks: Buffer[] = [];
      await connection.followOutput('loud-a1', 0, (chunk) => void chunks.push(chunk), never);
      assert.equal(sha256(Buffer.concat(chunks)), sha256(whole));
      await until('the end of the log', async () => (await pods.logs(target)).includes(LINES.at(-1) ?? ''));
      const logged = await pods.logs(target);
      assert.equal(sha256(logged.slice(logged.indexOf(LINES[0] ?? ''))), sha256(whole));
    });

    it('tells metrics in a file, beside its output', async () => {
      const runId = 'metrics-a1';
      await connection.startRun(request('echo \'{"loss":1}\' >> "$JOBCTL_METRICS_FILE"; echo up >&2', { runId }));
      let [output, metrics] = ['', ''];
      await connection.followOutput(runId, 0, (chunk) => void (output += chunk.toString()), never, {
        offset: 0,
        onChunk: (chunk) => void (metrics += chunk.toString()),
      });
      assert.deepEqual([output, metrics], ['up\n', '{"loss":1}\n']);
    });

    it('hands over what it wrote, before its end and at its end, without curl', async () => {
      const script = `mkdir out; echo first > out/a; seq 1 700000 > out/large; until [ -f go ]; do sleep 0.1; done; echo last > out/b`;
      const outputs = outputsByWorker(['out'], { everyMs: 500 });
      await connection.startRun(request(script, { runId: 'hands-a1', outputs }));
      const store = new OutputsInMemory();
      const taken = connection.deliverOutputs('hands-a1', store, never);
      await until('the first round', () => store.files['out/large']?.length === 4_788_895);
      await podOutput(connection, 'touch ~/go');
      assert.equal(await taken, 'settled');
      assert.deepEqual([store.files['out/a'], store.files['out/b']], ['first\n', 'last\n']);
    });

    it('is stopped with its notice and its grace, and then by force', async () => {
      const script = `trap 'grep -o "a test stops it" "$JOBCTL_NOTICE_FILE"; exit 9' TERM; echo ready; while :; do sleep 0.1; done`;
      await connection.startRun(request(script, { runId: 'kind-a1' }));
      await until(
        'its trap',
        async () => (await podOutput(connection, 'cat ~/.jobctl/runs/kind-a1/output')) === 'ready\n',
      );
      const stopped = await connection.stopRun('kind-a1', 10_000, NOTICE);
      assert.ok(stopped.kind === 'exited' && stopped.code === 9 && stopped.isStopped, JSON.stringify(stopped));
      assert.match(
        await podOutput(connection, 'cat ~/.jobctl/runs/kind-a1/output'),
        /^ready\n(Terminated\n)?a test stops it\n$/,
      );
      await connection.startRun(request(`trap '' TERM; while :; do sleep 0.1; done`, { runId: 'deaf-a1' }));
      const forced = await connection.stopRun('deaf-a1', 300, NOTICE);
      assert.ok(forced.kind === 'exited' && forced.signal === 'SIGKILL', JSON.stringify(forced));
    });

    it('is no child of an exec: its ancestors are its supervisor and the agent', async () => {
      await connection.startRun(request('sleep 1000', { runId: 'own-a1' }));
      const chain = `read -r _ pid _ < ~/.jobctl/runs/own-a1/begun
while [ "$pid" -gt 1 ]; do pid=$(awk '/^PPid:/ {print $2}' /proc/$pid/status); tr '\\0' ' ' < /proc/$pid/cmdline | cut -d' ' -f1-3 | sed 's/runner-[0-9a-f]*/runner/; s/ $//'; done`;
      assert.equal(await podOutput(connection, chain), 'sh /root/.jobctl/runner.sh supervise\n/bin/sh /jobctl/agent\n');
      await connection.stopRun('own-a1', 100, NOTICE);
    });

    it('gets 3 MB of stdin, of known length and as a stream', async () => {
      const bytes = Buffer.from(LINES.join('').repeat(2));
      assert.equal(await podOutput(connection, 'sha256sum', bytes), `${sha256(bytes)}  -\n`);
      let out = '';
      const stream = (async function* () {
        for (let at = 0; at < bytes.length; at += 100_000) yield bytes.subarray(at, at + 100_000);
      })();
      const take = (chunk: Buffer): void => void (out += chunk.toString());
      const end = await connection.exec('sha256sum; exit 3', {
        stdin: stream,
        onStdout: take,
        onStderr: take,
        signal: never,
      });
      assert.deepEqual([out, end.code], [`${sha256(bytes)}  -\n`, 3]);
    });

    it('has files put and got, and modules made, as on a VM', async () => {
      const bytes = Buffer.from(LINES.join(''));
      assert.equal(await connection.putFile(bytes, '~/in/data', { mode: 0o640, signal: never }), 'done');
      assert.equal(await connection.putFile(bytes, '~/in/data', { mode: 0o640, signal: never }), 'unchanged');
      const back: Buffer[] = [];
      const got = await connection.getFile('~/in/data', (chunk) => void back.push(chunk), { most: 1e9, signal: never });
      assert.deepEqual([got.sha256, got.mode, sha256(Buffer.concat(back))], [sha256(bytes), 0o640, sha256(bytes)]);
      const plan = {
        name: 'mine',
        fingerprint: '1',
        check: '[ -f ~/made ]',
        steps: [{ name: 'a', script: 'echo making; (sleep 1000 &); touch ~/made' }],
      };
      let printed = '';
      const listener = { onOutput: (_: string, chunk: Buffer) => void (printed += chunk.toString()) };
      const began = Date.now();
      assert.deepEqual(await connection.applyModules([plan], listener, never), [{ kind: 'done', module: 'mine' }]);
      // Whose step leaves a process behind that holds its output.
      assert.ok(Date.now() - began < 60_000);
      assert.equal(printed, 'making\n');
      assert.deepEqual(await connection.applyModules([plan], listener, never), [{ kind: 'unchanged', module: 'mine' }]);
    });
  });

  describe('what breaks on the way', () => {
    it('an exec that is cut leaves the command, and no process of its own; what follows goes on at its offset', async () => {
      const target = await pods.pod(image);
      const server = new URL(pods.cluster.config.getCurrentCluster()?.server ?? '');
      const cutter = await startTcpCutter(Number(server.port), server.hostname);
      const cluster = openCluster(library, { kubeconfig: pods.kubeconfig });
      Object.assign(cluster.config.getCurrentCluster() ?? {}, { server: `https://127.0.0.1:${cutter.port}` });
      const fleet = createPodHosts(async () => cluster);
      try {
        const connection = await fleet.connect(target, { privateKey: '' }, never);
        // It prints nothing more until it is told to: no process can then hear of the cut by a write that fails.
        const wait = 'if [ $i = 10 ]; then until [ -e ~/go ]; do sleep 0.1; done; fi';
        await connection.startRun(request(`for i in $(seq 40); do echo $i; ${wait}; done; exit 5`));
        let seen = '';
        const cutAt10 = (chunk: Buffer): void => {
          seen += chunk.toString();
          if (seen.includes('10\n')) cutter.cut();
        };
        await assert.rejects(connection.followOutput('train-x1-a1', 0, cutAt10, never), (error: Error) => {
          assert.ok(error instanceof HostUnreachable, String(error));
          assert.match(error.message, /was lost/);
          return true;
        });
        const again = await pods.connect(target);
        await until('the tail to be gone', async () =>
          (await podOutput(again, 'cat /proc/[0-9]*/comm')).split('\n').every((name) => name !== 'tail'),
        );
        assert.equal((await again.runStatus('train-x1-a1')).kind, 'running');
        await podOutput(again, 'touch ~/go');
        await again.followOutput('train-x1-a1', seen.length, (chunk) => void (seen += chunk.toString()), never);
        assert.equal(seen, Array.from({ length: 40 }, (_, at) => `${at + 1}\n`).join(''));
        assert.equal((await ended(again)).code, 5);
      } finally {
        fleet.release();
        await cutter.close();
      }
    });

    it('a pod that is deleted tells its command first, and is then unreachable in the words of Kubernetes', async () => {
      const target = await pods.pod(image);
      const connection = await pods.connect(target);
      const script = [
        `told=0; trap 'told=$((told + 1))' TERM; echo ready; while [ $told = 0 ]; do sleep 0.1; done`,
        'cat "$JOBCTL_NOTICE_FILE"; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done; echo "saved, told $told times"',
      ].join('; ');
      await connection.startRun(request(script));
      let seen = '';
      const following = connection
        .followOutput('train-x1-a1', 0, (chunk) => void (seen += chunk.toString()), never)
        .catch(() => undefined);
      await until('its trap', () => seen === 'ready\n');
      const { namespace, pod: name } = target;
      await pods.cluster.core.deleteNamespacedPod({ namespace, name });
      await until('it is told', () => seen.includes('"cause"'));
      // As the worker does that sees the loss of the gang.
      const stop = connection.stopRun('train-x1-a1', 20_000, { cause: 'preemption', reason: 'the gang ends' });
      stop.catch(() => undefined);
      await following;
      assert.match(seen, /"cause":"preemption","reason":"the pod is ended.*\nsaved, told 1 times\n$/s);
      await until(
        'its end',
        async () =>
          (await connection.runStatus('train-x1-a1').catch((error: Error) => error)) instanceof HostUnreachable,
      );
      await until('it is gone', async () => {
        const said = await connection.runStatus('train-x1-a1').catch((error: Error) => error.message);
        return typeof said === 'string' && /pods "p\d+" not found/.test(said);
      });
    });
  });
}
