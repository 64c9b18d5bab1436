import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Rehearsal } from '../index.js';
import { startRehearsal } from '../index.js';
import { Journal } from '../journal.js';
import type { WriteBytes } from '../json-lines.js';
import { Snapshot } from '../snapshot.js';
import { loadState, StateFile } from '../state-file.js';
import { ObjectLog } from '../store/object-log.js';
import { PureCloud } from './pure-cloud.js';
import { type Scratch, scratchFolder, SUBNET_OCTET } from './scratch.js';
import { until } from '../../test/until.js';

/** A device that the kernel answers with ENOSPC: what is written to a link to it meets a full disk, without a mount. */
const FULL = '/dev/full';

/** Takes so many bytes in all, and the last call in part, as a full disk does. */
function diskOf(bytes: number): { readonly write: WriteBytes; room: number } {
  const disk = {
    room: bytes,
    write(fd: number, all: Uint8Array, offset: number): number {
      if (disk.room === 0) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
      const length = Math.min(disk.room, all.length - offset);
      disk.room -= length;
      return writeSync(fd, all, offset, length);
    },
  };
  return disk;
}

describe('a full disk', () => {
  let scratch: Scratch;
  beforeEach(() => (scratch = scratchFolder('full-disk')));
  afterEach(() => scratch.remove());
  const linkToFull = (name: string): string => {
    const path = join(scratch.path, name);
    symlinkSync(FULL, path);
    return path;
  };

  for (const full of ['cloud-1.log', 'cloud.json.new'])
    it(`fails the saves of that time alone, and none after it (${full})`, async () => {
      const c = new PureCloud();
      if (full === 'cloud-1.log') linkToFull(full);
      const file = new StateFile(scratch.path, c.cloud.state, () => c.cloud.records.takeTouched());
      if (full === 'cloud-1.log') await file.save();
      else linkToFull(full);
      c.queue('a');
      await assert.rejects(file.save(), new RegExp(`${join(scratch.path, 'cloud.json')} cannot be written: ENOSPC`));
      assert.match(file.trouble ?? '', /ENOSPC/);
      rmSync(join(scratch.path, full), { force: true });
      c.queue('b');
      await file.save();
      assert.equal(file.trouble, undefined);
      assert.deepEqual(loadState(scratch.path), JSON.parse(JSON.stringify(c.cloud.state)));
      await file.close();
    });

  it('leaves nothing unsaved when it has room again, though nothing else changes', async () => {
    const file = join(scratch.path, 'script.json');
    const aside = linkToFull('script.json.new');
    const snapshot = new Snapshot(file, () => ({ at: 1 }));
    snapshot.saveSoon();
    await until('the save fails', () => snapshot.trouble !== undefined);
    rmSync(aside);
    await until('it is saved', () => existsSync(file));
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), { at: 1 });
    snapshot.close();
  });

  it('tears no line of the journal, and loses no event', () => {
    const file = join(scratch.path, 'journal.jsonl');
    const disk = diskOf(250);
    const journal = new Journal(file, disk.write);
    for (let event = 1; event <= 5; event += 1) journal.record('test', `s/${event}`, { text: 'x'.repeat(20) });
    assert.match(journal.trouble ?? '', /journal\.jsonl cannot be written: ENOSPC/);
    const seqs = (): readonly number[] => Array.from(journal.after(0), ({ seq }) => seq);
    assert.deepEqual(seqs(), [1, 2, 3, 4, 5]);
    disk.room = Infinity;
    journal.record('test', 's/6');
    assert.equal(journal.trouble, undefined);
    journal.close();
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { seq: number }).seq),
      [1, 2, 3, 4, 5, 6],
    );
  });

  describe('under a rehearsal', function () {
    this.timeout(60_000);
    let rehearsal: Rehearsal | undefined;
    afterEach(() => rehearsal?.stop());

    it('ends nothing: verbs are refused with the file, its readiness says why, and both are over with it', async () => {
      linkToFull('cloud-1.log');
      rehearsal = await startRehearsal({ stateDir: scratch.path, subnetOctet: SUBNET_OCTET, sshPort: 2222 });
      const aside = linkToFull('cloud.json.new');
      const { admin } = rehearsal.endpoints;
      const lag = async (): Promise<readonly [number, string]> => {
        const headers = { 'content-type': 'application/json' };
        const answer = await fetch(`${admin}/admin/list-lag`, { method: 'POST', headers, body: '{"lagMs":0}' });
        return [answer.status, await answer.text()];
      };
      const ready = async (): Promise<readonly [number, string]> => {
        const answer = await fetch(`${admin}/admin/ready`);
        return [answer.status, await answer.text()];
      };
      assert.deepEqual(await ready(), [200, '{"ready":true,"reasons":[]}']);
      const [status, text] = await lag();
      assert.equal(status, 500);
      assert.match(text, /cloud\.json cannot be written: ENOSPC/);
      const [notReady, reasons] = await ready();
      assert.equal(notReady, 503);
      assert.match(reasons, /cloud\.json cannot be written: ENOSPC/);
      rmSync(aside);
      await until('it is ready', async () => (await ready())[0] === 200);
      assert.equal((await lag())[0], 200);
    });
  });
});

describe('a broken line in a file of the state', () => {
  let scratch: Scratch;
  beforeEach(() => (scratch = scratchFolder('broken-line')));
  afterEach(() => scratch.remove());

  /** What a start says on stderr meanwhile. */
  function said(act: () => void): string {
    const { write } = process.stderr;
    let text = '';
    process.stderr.write = (chunk: unknown) => ((text += String(chunk)), true);
    try {
      act();
    } finally {
      process.stderr.write = write;
    }
    return text;
  }

  it('costs the journal that line, said with its file and number', () => {
    const file = join(scratch.path, 'journal.jsonl');
    const first = new Journal(file);
    for (const subject of ['a', 'b']) first.record('test', subject);
    first.close();
    // As a short write left it: half of a line, and the next one behind it.
    appendFileSync(
      file,
      '{"seq":3,"at":1,"wall":1,"kind":"test","subject":"job{"seq":4,"at":1,"wall":1,"kind":"x","subject":"y","details":{}}\n',
    );
    appendFileSync(file, '{"seq":5,"at":1,"wall":1,"kind":"test","subject":"c","details":{}}\n');
    let journal: Journal | undefined;
    const words = said(() => (journal = new Journal(file)));
    assert.match(words, /journal\.jsonl:3: not a JSON line, left out: \{"seq":3/);
    const seqs = Array.from(journal?.after(0) ?? [], ({ seq }) => seq);
    assert.deepEqual(seqs, [1, 2, 5]);
    assert.deepEqual(Array.from(journal?.linesAfter(2) ?? []).length, 1);
    assert.equal(journal?.lastSeq, 5);
    journal?.close();
  });

  it('costs the cloud that change, said with its file and number', async () => {
    const c = new PureCloud();
    const file = new StateFile(scratch.path, c.cloud.state, () => c.cloud.records.takeTouched());
    await file.save();
    c.queue('a');
    await file.save();
    await file.close();
    appendFileSync(join(scratch.path, 'cloud-1.log'), '{"nodes":{"x{"rest":{}}\n{"rest":{"journalSeq":7}}\n');
    c.cloud.state.journalSeq = 7;
    let found: unknown;
    const words = said(() => (found = loadState(scratch.path)));
    assert.match(words, /cloud-1\.log:2: not a JSON line/);
    assert.deepEqual(found, JSON.parse(JSON.stringify(c.cloud.state)));
  });

  it('costs a bucket that change, said with its file and number', () => {
    mkdirSync(join(scratch.path, 'b'));
    const file = join(scratch.path, 'b', 'objects.log');
    const drop = (name: string): string => `[{"drop":{"name":"${name}","generation":"1"}}]\n`;
    writeFileSync(file, `${drop('a')}[{"drop":{"na[{"drop"\n${drop('c')}[{"half`);
    const names: string[] = [];
    const words = said(() =>
      ObjectLog.open(file, (change) => void ('drop' in change && names.push(change.drop.name))).close(),
    );
    assert.match(words, /objects\.log:2: not a JSON line/);
    assert.deepEqual(names, ['a', 'c']);
    assert.equal(readFileSync(file, 'utf8').endsWith('\n'), true);
  });
});
