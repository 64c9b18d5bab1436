import assert from 'node:assert/strict';
import { appendFileSync, copyFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadState, StateFile } from '../state-file.js';
import type { CloudState } from '../tpu/state.js';
import { emptyState } from '../tpu/state.js';
import { DEFAULT_SETTINGS } from '../tpu/settings.js';
import { upgraded } from '../tpu/upgrade.js';
import { nodeName, PARENT, PureCloud, requestName } from './pure-cloud.js';
import type { Scratch } from './scratch.js';
import { scratchFolder } from './scratch.js';

function asJson(state: CloudState): unknown {
  return JSON.parse(JSON.stringify(state));
}

describe('the cloud’s state on disk', () => {
  let scratch: Scratch;
  let folder = '';
  let c: PureCloud;
  let file: StateFile;

  beforeEach(async () => {
    scratch = scratchFolder('state-file');
    folder = scratch.path;
    c = new PureCloud();
    file = new StateFile(folder, c.cloud.state, () => c.cloud.records.takeTouched());
    await file.save();
  });
  afterEach(async () => {
    await file.close();
    scratch.remove();
  });

  it('is the whole and each change since, whatever changed', async () => {
    for (const id of ['a', 'b']) c.queue(id);
    await file.save();
    c.step(1000);
    await file.save();
    c.cloud.preempt(c.node('a'), 'vanish');
    c.cloud.maintenance.warn(c.node('b'));
    c.cloud.configure({ capacity: { x: 1 } });
    c.cloud.state.holds.push({ state: 'DELETING', nameMatches: undefined });
    await file.save();
    c.cloud.deleteQueuedResource(requestName('b'), true);
    c.step(5000);
    await file.save();
    assert.deepEqual(loadState(folder), asJson(c.cloud.state));
    assert.deepEqual(readdirSync(folder).toSorted(), ['cloud-1.log', 'cloud.json']);
  });

  it('costs what has changed, and nothing where nothing has', async () => {
    for (let index = 0; index < 200; index += 1) c.queue(`many-${index}`);
    await file.save();
    const log = join(folder, 'cloud-1.log');
    const before = statSync(log).size;
    await file.save();
    assert.equal(statSync(log).size, before);
    c.queue('one-more');
    await file.save();
    const added = statSync(log).size - before;
    assert.ok(added > 0 && added < 5000, `${added} bytes for one request among 200`);
  });

  it('forgets half a line, which a killed process left, and goes on behind it', async () => {
    c.queue('a');
    await file.save();
    const known = asJson(c.cloud.state);
    appendFileSync(join(folder, 'cloud-1.log'), '{"queuedResources":{"half');
    assert.deepEqual(loadState(folder), known);
    assert.ok(readFileSync(join(folder, 'cloud-1.log'), 'utf8').endsWith('}\n'));
  });

  it('takes no log for that of another whole', async () => {
    c.queue('a');
    await file.save();
    const known = asJson(c.cloud.state);
    copyFileSync(join(folder, 'cloud-1.log'), join(folder, 'cloud-7.log'));
    appendFileSync(join(folder, 'cloud-7.log'), `${JSON.stringify({ rest: { seed: 99 } })}\n`);
    assert.deepEqual(loadState(folder), known);
    assert.deepEqual(readdirSync(folder).toSorted(), ['cloud-1.log', 'cloud.json']);
  });

  it('is a whole again when the log has grown long, and a new start makes one too', async () => {
    const metadata = { 'startup-script': 'x'.repeat(600_000) };
    for (let index = 0; index < 9; index += 1) {
      c.create(`big-${index}`, { metadata });
      await file.save();
    }
    const [log, whole] = readdirSync(folder).toSorted();
    assert.deepEqual([log, whole], ['cloud-2.log', 'cloud.json']);
    assert.deepEqual(loadState(folder), asJson(c.cloud.state));
    const next = new StateFile(folder, c.cloud.state, () => c.cloud.records.takeTouched());
    await next.close();
    assert.deepEqual(readdirSync(folder).toSorted(), ['cloud-3.log', 'cloud.json']);
    assert.deepEqual(loadState(folder), asJson(c.cloud.state));
  });

  it('that issue 2 left behind is read, with what it did not know filled in', () => {
    const resource = { name: requestName('old'), spot: {}, state: { state: 'ACTIVE', stateInitiator: 'SERVICE' } };
    const record = { resource, chips: 8, node: nodeName('old'), operations: [] };
    const node = {
      resource: { name: nodeName('old'), schedulingConfig: { spot: true } },
      chips: 8,
      hosts: [],
      wasPreempted: true,
    };
    const old = { queuedResources: { [requestName('old')]: record }, nodes: { [nodeName('old')]: node } };
    writeFileSync(join(folder, 'cloud.json'), JSON.stringify(old));
    const state = upgraded({ ...emptyState(DEFAULT_SETTINGS), ...loadState(folder) });
    const { nodes, tier, isOverQuota } = state.queuedResources[requestName('old')] ?? {};
    assert.deepEqual([nodes, tier, isOverQuota], [[`${PARENT}/nodes/old`], 'spot', false]);
    const husk = state.nodes[nodeName('old')];
    assert.deepEqual([husk?.tier, husk?.isReclaimed], ['spot', true]);
  });

  it('that is no JSON is named, with what to do', () => {
    writeFileSync(join(folder, 'cloud.json'), '{');
    assert.throws(
      () => loadState(folder),
      /rehearsal state .*cloud\.json cannot be read .*move it away to start empty/,
    );
    writeFileSync(join(folder, 'cloud.json'), '{}');
  });
});
