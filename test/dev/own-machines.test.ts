import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { up } from '../../cli/commands/verbs/dev.js';
import { everybodysQuota, machineLines, settleOwnMachines } from '../../cli/local/dev/own-machines.js';
import { settleCloud } from '../../cli/local/dev/real-cloud.js';
import { stackHome } from '../../cli/terminal/home.js';
import type { StackRecord } from '../../cli/place/stack/stack-record.js';
import type { MachineRow } from '../../contract/machines.js';
import { parseQuotaFile } from '../../quota/files/quota-file.js';

const box = (name: string, more = ''): string =>
  `[[machines]]\nname = "${name}"\naddress = "${name}.lab"\nuser = "train"\n${more}\n`;

/** docs/adr/0171 */
describe('a local stack of own machines alone', () => {
  const folder = mkdtempSync(join(tmpdir(), 'own-machines-'));
  const poolFile = join(folder, 'pool.toml');
  const home = stackHome({ JOBCTL_HOME: join(folder, 'home') });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('lets everybody use all that its pool file names, slots and machines without a GPU too', async () => {
    const shared = box('c', 'share = true\naccelerators = { h100 = 8 }').replace('"train"', '"train-{slot}"');
    writeFileSync(poolFile, box('a') + box('b', 'accelerators = { v100 = 4 }') + shared);
    const text = await everybodysQuota(poolFile);
    const parsed = parseQuotaFile(text, 'q.toml');
    assert.ok(parsed.ok, JSON.stringify(parsed));
    assert.match(text, /\[\[total_resources\]\]\nmachine = 1\nv100 = 4\nh100 = 8\n/);
    assert.match(text, /\[project_resources\.everyone\]\nmachine = 1\.0\nv100 = 4\.0\nh100 = 8\.0\n/);
    writeFileSync(poolFile, '[quota]\n');
    await assert.rejects(everybodysQuota(poolFile), /pool\.toml: names no machine[^]*\[\[machines\]\]/);
    writeFileSync(poolFile, box('a', 'slots = 3'));
    await assert.rejects(everybodysQuota(poolFile), /pool\.toml:4:8: user: /);
  });

  it('has a folder as its store, or the one that is named, and keeps it', () => {
    const settle = (bucket?: string, known?: string, env = {}) =>
      settleOwnMachines(
        { home, env, known: known === undefined ? undefined : ({ ownMachines: { bucket: known } } as StackRecord) },
        bucket === undefined ? {} : { bucket },
      ).bucket;
    assert.match(settle(), /^file:\/\/.*\/home\/store$/);
    assert.equal(settle('s3://jobs/lab'), 's3://jobs/lab');
    assert.equal(settle(undefined, undefined, { JOBCTL_BUCKET: 'gs-jobs' }), 'gs-jobs');
    assert.equal(settle(undefined, 'file:///srv/jobs', { JOBCTL_BUCKET: 'gs-jobs' }), 'file:///srv/jobs');
    assert.throws(() => settle('./jobs'), /--bucket: "\.\/jobs" .*file:\/\/\/ABSOLUTE\/PATH/);
  });

  it('is not made of another stack, and no other of it', async () => {
    const settling = { home, env: {}, onProgress: () => undefined };
    const rehearsed = { v: 1 } as unknown as StackRecord;
    const own = { v: 1, ownMachines: { bucket: 'file:///srv/jobs' } } as unknown as StackRecord;
    await assert.rejects(
      settleCloud({ ...settling, known: rehearsed, wish: { kind: 'machines' } }),
      /is on the rehearsal, and stays there/,
    );
    for (const wish of [
      { kind: 'rehearsal' } as const,
      { kind: 'gcp' } as const,
      { kind: 'machines', bucket: 'file:///other' } as const,
    ])
      await assert.rejects(
        settleCloud({ ...settling, known: own, wish }),
        /is on own machines alone, with the store file:\/\/\/srv\/jobs, and stays there/,
      );
    assert.deepEqual(await settleCloud({ ...settling, known: own, wish: undefined }), { ownMachines: own.ownMachines });
  });

  it('takes no flag of a cloud', async () => {
    for (const flags of [{ cloud: 'gcp' }, { poolFile: 'x' }, { zone: 'us-east1-b' }, { iAmAloneHere: true }] as const)
      await assert.rejects(
        up({ machines: 'p.toml', ...flags }),
        /--machines takes neither a cloud nor another pool file/,
      );
  });

  it('says of each machine that cannot be used why, and what to paste', () => {
    const publicKeyFile = join(folder, 'key.pub');
    writeFileSync(publicKeyFile, 'ssh-ed25519 AAAA jobctl-dev\n');
    const row = (name: string, more: Partial<MachineRow>): MachineRow => ({
      ...{ name, address: `${name}.lab:22`, user: 'train', accelerators: {}, state: 'free' },
      ...more,
    });
    const silent = (problem: string) => ({ state: 'silent', problem }) as const;
    const lines = machineLines(
      [
        row('a', {}),
        row('b', silent('it refused the key SHA256:x for user train')),
        row('c', { ...silent('it refused the key SHA256:x'), address: 'c.lab:2222' }),
        row('d', silent('connect ECONNREFUSED')),
      ],
      { publicKeyFile },
    ).join('\n');
    assert.match(lines, /1 of 4 machines do not answer; are they on[^\n]*\n +d \(d\.lab:22\): connect ECONNREFUSED/);
    assert.ok(lines.includes(`  ssh-copy-id -f -i ${publicKeyFile} train@b.lab\n`), lines);
    assert.ok(lines.includes(`  ssh-copy-id -f -i ${publicKeyFile} -p 2222 train@c.lab\n`), lines);
    assert.match(lines, /authorized_keys of these users there:\n {2}ssh-ed25519 AAAA jobctl-dev\n/);
    assert.deepEqual(machineLines([row('a', {})], { publicKeyFile }), ['All 1 machines answer']);
  });
});
