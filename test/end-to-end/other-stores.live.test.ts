import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { s3Programs, startS3Server } from '../cloud/s3-server.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { StackWithoutGoogle } from './stack-without-google.js';

/** 3 MB, in the bundle of the job, and half of it packed: more than goes along with a script. */
const DATA = randomBytes(1_500_000).toString('hex');
const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');
const LARGE = Array.from({ length: 300_000 }, (_, at) => `${at + 1}\n`).join('');

const TRAIN = `#!/bin/bash
echo "host $JOBCTL_HOST_INDEX: bundle $(sha256sum < data.txt | cut -c 1-64), store $JOBCTL_BUCKET"
mkdir -p out
seq 1 300000 > out/large
echo "of host $JOBCTL_HOST_INDEX" > "$JOBCTL_OUTPUT_DIR/own"
`;

interface Place {
  /** JOBCTL_BUCKET, and whatever the store needs. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

async function folderPlace(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-store-'));
  const environment = { JOBCTL_BUCKET: pathToFileURL(join(folder, 'store')).href };
  return { environment, stop: async () => rmSync(folder, { recursive: true, force: true }) };
}

async function s3Place(): Promise<Place> {
  const [program] = s3Programs();
  assert.ok(program, 'a server that speaks S3 is installed');
  const { environment, stop } = await startS3Server(program);
  return { environment: { ...environment, JOBCTL_BUCKET: 's3://lab-jobs/jobctl' }, stop };
}

/** Somebody with a rack, and with no Google project, bucket or login. */
for (const [name, open] of Object.entries({ 'a folder': folderPlace, S3: s3Place }))
  describe(`a rack whose store is ${name}`, function () {
    this.timeout(180_000);
    let place: Place;
    let stack: StackWithoutGoogle;
    before(async function () {
      this.timeout(TEMPORAL_START_MS + 120_000);
      place = await open();
      stack = await StackWithoutGoogle.start(place.environment);
    });
    after(async () => {
      await stack?.stop();
      await place?.stop();
    });
    const done = async (...words: string[]): Promise<string> => {
      const { code, stdout, stderr } = await stack.user.run(...words);
      assert.equal(code, 0, `${words.join(' ')}: ${stdout}${stderr}\n${stack.tail()}`);
      return stdout;
    };
    const bucket = (): string => place.environment['JOBCTL_BUCKET'] ?? '';

    it('runs a job with its bundle, shows its log, and brings its files back', async () => {
      const folder = join(stack.user.home, 'train');
      mkdirSync(folder);
      writeFileSync(join(folder, 'data.txt'), DATA);
      writeFileSync(join(folder, 'train.sh'), TRAIN);
      const job = {
        ...{ name: 'train', pool: stack.pool, machines: { hosts: 2 }, bundle: '.' },
        ...{ outputs: { paths: ['out'], every: '10s' }, command: { run: 'exec bash train.sh' } },
      };
      writeFileSync(join(folder, 'job.yaml'), JSON.stringify(job));
      const id = `train-${stack.pool}`;
      await done('submit', '--wait', '--name', id, join(folder, 'job.yaml'));

      const log = await done('logs', id);
      for (const host of [0, 1])
        assert.ok(log.includes(`host ${host}: bundle ${sha256(DATA)}, store ${bucket()}\n`), log);
      assert.ok((await done('status', id)).includes(`files: ${bucket()}/jobs/${id}/`));
      assert.match(await done('outputs', id), /out\/large/);

      const results = join(stack.user.home, 'results');
      await done('download', id, '--host', 'all', results);
      assert.deepEqual(readdirSync(results).toSorted(), ['host-0', 'host-1']);
      for (const host of [0, 1]) {
        const file = (path: string): string => readFileSync(join(results, `host-${host}`, path), 'utf8');
        assert.equal(sha256(file('out/large')), sha256(LARGE));
        assert.equal(file('own'), `of host ${host}\n`);
      }
    });

    it('refuses a job for machines of Google’s, since no project is configured', async () => {
      const file = join(stack.user.home, 'tpu.yaml');
      const tpu = { accelerator: 'v5litepod-8', zone: 'us-central1-a' };
      writeFileSync(file, JSON.stringify({ name: 'tpu', pool: stack.pool, tpu, command: { run: 'true' } }));
      const { code, stderr } = await stack.user.run('submit', '--name', 'tpu', file);
      assert.notEqual(code, 0);
      assert.match(stderr, /no Google project/);
    });

    it('doctor says that the store lets one of two writers win', async () => {
      const { stdout } = await stack.user.run('doctor', '--server');
      assert.ok(stdout.includes(`${bucket()} lets one of two writers win`), stdout);
    });
  });
