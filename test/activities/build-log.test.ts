import assert from 'node:assert/strict';
import type { Writable } from 'node:stream';
import { BuildLog } from '../../activities/await-build.js';
import { MockActivityEnvironment } from '@temporalio/testing';
import { CloudRefused, CloudUnavailable } from '../../cloud/machines/port.js';
import type { StorePort } from '../../cloud/store/port.js';
import { logPrefix } from '../../domain/store-layout.js';

const POD = { name: 'build-0-x', uid: 'u' };
const PLACE = { namespace: 'default' };
const waiter = (id: string, attempt = 1) => ({ id, run: `run-of-${id}`, attempt });

/** Objects alone: what a real store does with them is log-stream.test.ts's. */
class Objects {
  readonly texts = new Map<string, string>();
  readonly port = {
    bucket: 'b',
    list: async (prefix: string) =>
      [...this.texts].flatMap(([name, text]) => (name.startsWith(prefix) ? [{ name, size: text.length }] : [])),
    write: async (name: string, content: Uint8Array | string) => {
      if (this.texts.has(name)) return { kind: 'conflict' };
      this.texts.set(name, Buffer.from(content).toString());
      return { kind: 'written', generation: '1' };
    },
  } as unknown as StorePort;

  of(job: string, attempt = 1, host = 0): string {
    const prefix = `${logPrefix(job, attempt, 'build')}host-${host}.`;
    const names = [...this.texts.keys()].filter((name) => name.startsWith(prefix)).toSorted();
    return names.map((name) => this.texts.get(name)).join('');
  }
}

type Follow = (output: Writable) => Promise<void>;

/** A pod's log, as each call of `follow` tells it. */
function open(
  objects: Objects,
  follows: Follow[],
  number = 0,
): { readonly log: BuildLog; readonly left: () => number } {
  const log = new BuildLog(
    {
      builds: {
        follow: (_place, _pod, output) => follows.shift()?.(output) ?? assert.fail('nothing more is told'),
      },
      shipping: { store: objects.port, meter: { logLag: () => undefined } },
    },
    { place: PLACE, number, signal: new AbortController().signal },
  );
  return { log, left: () => follows.length };
}

const write = (output: Writable, text: string): Promise<void> =>
  new Promise((done, fail) => void output.write(text, (error) => (error ? fail(error) : done())));
const whole =
  (...parts: readonly string[]): Follow =>
  async (output) => {
    for (const part of parts) await write(output, part);
  };
const inActivity = (run: () => Promise<void>): Promise<void> => new MockActivityEnvironment().run(run);

describe('the log of a build', function () {
  this.timeout(30_000);

  it('goes to every job that waits, whole, whenever it came', () =>
    inActivity(async () => {
      const objects = new Objects();
      let tellRest = (): void => undefined;
      const rest = new Promise<void>((done) => (tellRest = done));
      const { log } = open(objects, [
        async (output) => {
          await write(output, 'one\n');
          begun();
          await rest;
          await write(output, 'two\n');
        },
      ]);
      let begun = (): void => undefined;
      const beginning = new Promise<void>((done) => (begun = done));
      await log.serve([waiter('early')]);
      log.read(POD);
      await beginning;
      await log.serve([waiter('early'), waiter('late', 3)]);
      tellRest();
      await log.end();
      assert.deepEqual([objects.of('early'), objects.of('late', 3)], ['one\ntwo\n', 'one\ntwo\n']);
    }));

  it('that breaks off is read again from its beginning, and what is known of it is passed over', () =>
    inActivity(async () => {
      const objects = new Objects();
      const breaks: Follow = async (output) => {
        await write(output, 'one\ntw');
        throw new CloudUnavailable('socket hang up');
      };
      const { log, left } = open(objects, [breaks, whole('o', 'ne\ntwo\nthr', 'ee\n')]);
      await log.serve([waiter('job')]);
      log.read(POD);
      log.read(POD);
      await log.end();
      assert.deepEqual([objects.of('job'), left()], ['one\ntwo\nthree\n', 0]);
    }));

  it('is gone on with by another worker where the first one has stopped', () =>
    inActivity(async () => {
      const objects = new Objects();
      const first = open(objects, [whole('one\n')]).log;
      await first.serve([waiter('job')]);
      first.read(POD);
      await first.end();
      const second = open(objects, [whole('one\ntwo\n')]).log;
      await second.serve([waiter('job')]);
      second.read(POD);
      await second.end();
      assert.equal(objects.of('job'), 'one\ntwo\n');
    }));

  it('of another try is another host', () =>
    inActivity(async () => {
      const objects = new Objects();
      const { log } = open(objects, [whole('again\n')], 1);
      await log.serve([waiter('job')]);
      log.read(POD);
      await log.end();
      assert.deepEqual([objects.of('job', 1, 0), objects.of('job', 1, 1)], ['', 'again\n']);
    }));

  it('that a worker may not read says so in its place', () =>
    inActivity(async () => {
      const objects = new Objects();
      const refuses: Follow = () => Promise.reject(new CloudRefused('User "w" cannot get resource "pods/log"'));
      const { log } = open(objects, [refuses]);
      await log.serve([waiter('job')]);
      log.read(POD);
      await log.end();
      assert.match(objects.of('job'), /^\[jobctl\] the log of the build cannot be read: User "w" cannot get resource/);
    }));
});
