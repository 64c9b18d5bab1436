import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HostUnreachable } from '../../cloud/hosts/port.js';
import { never, withHost } from './session.js';
import { until } from '../until.js';

const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');
const run = (script: string) => ({ runId: 'train-a1', epoch: 1, script, env: {} });

describe('following the output', () => {
  it('gives every byte once, in order, over any number of cuts', () =>
    withHost(async ({ host, connection }) => {
      // 40 parts with pauses between, so that cuts meet a growing file; lines of odd lengths and a last one without newline.
      const script = `for i in $(seq 40); do head -c 150001 /dev/urandom | base64 -w 61; sleep 0.02; done; printf end`;
      await connection.startRun(run(script));
      const received: Buffer[] = [];
      let reached = 0;
      let cuts = 0;
      let nextCut = 100_000;
      await until('the end of the output', async () => {
        try {
          const from = reached;
          const end = await connection.followOutput(
            'train-a1',
            from,
            (chunk) => {
              received.push(chunk);
              reached += chunk.length;
              if (reached < nextCut) return;
              nextCut = reached + 600_000;
              cuts += 1;
              host.cut();
            },
            never,
          );
          assert.equal(end, reached);
          return true;
        } catch (error) {
          assert.ok(error instanceof HostUnreachable, String(error));
          return undefined;
        }
      });
      const stored = readFileSync(join(host.home, '.jobctl/runs/train-a1/output'));
      assert.equal(sha256(Buffer.concat(received)), sha256(stored));
      assert.ok(stored.length > 8_000_000, `${stored.length} bytes`);
      assert.ok(cuts >= 8, `only ${cuts} cuts: the test shows nothing`);
    }));

  it('reads no further while a chunk is being stored', () =>
    withHost(async ({ connection }) => {
      await connection.startRun(run('head -c 8000000 /dev/zero'));
      let working = 0;
      let most = 0;
      let received = 0;
      let release = (): void => undefined;
      const gate = new Promise<void>((resolve) => (release = resolve));
      const followed = connection.followOutput(
        'train-a1',
        0,
        async (chunk) => {
          working += 1;
          most = Math.max(most, working);
          received += chunk.length;
          await gate;
          working -= 1;
        },
        never,
      );
      await until('the first chunk and the end of the run', async () =>
        received > 0 && (await connection.runStatus('train-a1')).kind === 'exited' ? true : undefined,
      );
      const whileHeld = received;
      release();
      assert.equal(await followed, 8_000_000);
      assert.equal(most, 1);
      assert.ok(whileHeld < 100_000, `${whileHeld} bytes were given out while the first chunk was held`);
    }));

  for (const [way, followWithInotify] of Object.entries({ looks: false, inotify: true })) {
    it(`shows a line while the command runs, by ${way}`, () =>
      withHost(async ({ host, another }) => {
        const connection = await another({ followWithInotify });
        await connection.startRun(run('echo first; while [ ! -f "$HOME/go" ]; do sleep 0.05; done; echo last'));
        let output = '';
        const reached = await connection.followOutput(
          'train-a1',
          0,
          (chunk) => {
            output += chunk.toString();
            if (output === 'first\n') writeFileSync(join(host.home, 'go'), '');
          },
          never,
        );
        assert.equal(output, 'first\nlast\n');
        assert.equal(reached, 11);
      }));
  }

  it('of a run that has ended gives the rest from the offset, and nothing that login files print', () =>
    withHost(async ({ host, connection }) => {
      writeFileSync(join(host.home, '.bashrc'), 'echo noise');
      writeFileSync(join(host.home, '.bash_profile'), '');
      await connection.startRun(run('printf 0123456789'));
      let output = '';
      const follow = (from: number): Promise<number> =>
        connection.followOutput('train-a1', from, (chunk) => void (output += chunk.toString()), never);
      assert.equal(await follow(4), 10);
      assert.equal(output, '456789');
      assert.equal(await follow(10), 10);
      assert.equal(output, '456789');
    }));

  for (const [way, followWithInotify] of Object.entries({ looks: false, inotify: true })) {
    it(`gives the metrics file too, apart from the output, by ${way}`, () =>
      withHost(async ({ host, another }) => {
        const connection = await another({ followWithInotify });
        writeFileSync(join(host.home, '.bashrc'), 'echo noise >&2');
        const script =
          'echo first; echo a >> "$JOBCTL_METRICS_FILE"; while [ ! -f "$HOME/go" ]; do sleep 0.05; done; ' +
          'echo words >&2; printf "b\nc" >> "$JOBCTL_METRICS_FILE"';
        await connection.startRun(run(script));
        const said = { output: '', metrics: '' };
        const follow = (offset: number): Promise<number> =>
          connection.followOutput('train-a1', 0, (chunk) => void (said.output += chunk.toString()), never, {
            offset,
            onChunk: (chunk) => {
              said.metrics += chunk.toString();
              writeFileSync(join(host.home, 'go'), '');
            },
          });
        await follow(0);
        assert.deepEqual(said, { output: 'first\nwords\n', metrics: 'a\nb\nc' });
        await follow(2);
        assert.deepEqual(said, { output: 'first\nwords\nfirst\nwords\n', metrics: 'a\nb\ncb\nc' });
      }));
  }

  const strange = {
    'was removed': 'rm "$JOBCTL_METRICS_FILE"',
    'is a pipe that nobody writes to': 'rm "$JOBCTL_METRICS_FILE"; mkfifo "$JOBCTL_METRICS_FILE"',
    'is a folder': 'rm "$JOBCTL_METRICS_FILE"; mkdir "$JOBCTL_METRICS_FILE"',
    'is a device without an end': 'ln -sf /dev/zero "$JOBCTL_METRICS_FILE"',
  };
  for (const [what, deed] of Object.entries(strange))
    it(`gives the output though the metrics file ${what}`, () =>
      withHost(async ({ connection }) => {
        await connection.startRun(run(`${deed}; echo up; sleep 0.3; echo end`));
        let [output, metrics] = ['', 0];
        const follow = (): Promise<number> =>
          connection.followOutput('train-a1', 0, (chunk) => void (output += chunk.toString()), never, {
            offset: 0,
            onChunk: ({ length }) => void (metrics += length),
          });
        await until('the deed', async () =>
          (await connection.runStatus('train-a1')).kind === 'exited' ? true : undefined,
        );
        await follow();
        assert.deepEqual([output, metrics], ['up\nend\n', 0]);
      }));

  it('names what the runner says of itself with a metrics file too', () =>
    withHost(({ connection }) =>
      assert.rejects(
        connection.followOutput('no/id', 0, () => undefined, never, { offset: 0, onChunk: () => undefined }),
        /run id 'no\/id': use letters/,
      ),
    ));

  it('ends with the signal, and the run goes on', () =>
    withHost(async ({ connection }) => {
      await connection.startRun(run('echo up; exec sleep 60'));
      const cancel = new AbortController();
      const followed = connection.followOutput('train-a1', 0, () => cancel.abort(new Error('enough')), cancel.signal);
      await assert.rejects(followed, { message: 'enough' });
      assert.equal((await connection.runStatus('train-a1')).kind, 'running');
    }));

  it('hands on what the storing throws', () =>
    withHost(async ({ connection }) => {
      await connection.startRun(run('echo up; exec sleep 60'));
      const storeIsFull = (): Promise<void> => Promise.reject(new Error('the store is full'));
      await assert.rejects(connection.followOutput('train-a1', 0, storeIsFull, never), {
        message: 'the store is full',
      });
    }));
});
