import assert from 'node:assert/strict';
import { nodeName, PureCloud, requestName, ZONE } from './pure-cloud.js';
import type { Step } from './stages.js';
import { active, inTurn, provisioning, queued, remove, SECOND, suspended, suspending } from './stages.js';

describe('a deletion without force', () => {
  const states: Readonly<Record<string, Step>> = {
    CREATING: queued,
    PROVISIONING: provisioning,
    ACTIVE: active,
    SUSPENDING: suspending,
    DELETING: inTurn(active, remove(true)),
  };
  for (const [state, given] of Object.entries(states)) {
    it(`is refused while the queued resource is ${state}`, () => {
      const c = new PureCloud(SECOND);
      given(c);
      const text = `DeleteQueuedResource is not supported when state is ${state} (must be one of [ACCEPTED WAITING_FOR_RESOURCES SUSPENDED FAILED])`;
      assert.throws(() => remove(false)(c), { name: 'ApiError', code: 9, message: text });
      assert.equal(c.stateOf('a'), state);
    });
  }

  it('leaves the husk, which blocks its name until it is deleted too', () => {
    const c = new PureCloud(SECOND);
    suspended(c);
    remove(false)(c);
    c.step(1000);
    assert.deepEqual([c.stateOf('a'), c.nodeState('a')], ['gone', 'PREEMPTED']);
    assert.throws(() => c.queue('a'), { code: 6, message: `Resource '${nodeName('a')}' already exists` });
    c.cloud.deleteNode(nodeName('a'));
    assert.throws(() => c.queue('a'), { code: 6 });
    c.step(1000);
    c.queue('a');
  });

  it('a second one joins the first, and both operations end with it', () => {
    const c = new PureCloud(SECOND);
    active(c);
    const both = [true, true].map((force) => c.cloud.deleteQueuedResource(requestName('a'), force));
    assert.deepEqual(
      both.map((operation) => c.outcome(operation)),
      ['open', 'open'],
    );
    c.step(1000).step(1000);
    assert.deepEqual(
      both.map((operation) => c.outcome(operation)),
      ['ok', 'ok'],
    );
  });
});

describe('a request that cannot be deleted for a while', () => {
  it('refuses force too while it is PROVISIONING, for as long as the settings say, and no longer', () => {
    const c = new PureCloud({ ...SECOND, provisioningMs: 7_200_000, undeletableMs: 3_600_000 });
    provisioning(c);
    const refused = { code: 9, message: /^DeleteQueuedResource is not supported when state is PROVISIONING / };
    for (const force of [false, true]) assert.throws(() => remove(force)(c), refused);
    c.step(3_599_999);
    assert.throws(() => remove(true)(c), refused);
    c.step(1);
    remove(true)(c);
    assert.equal(c.stateOf('a'), 'DELETING');
  });

  it('can be deleted in every other state of that time', () => {
    const c = new PureCloud({ ...SECOND, undeletableMs: 3_600_000 });
    active(c);
    remove(true)(c);
    assert.equal(c.stateOf('a'), 'DELETING');
  });
});

describe('the create operation of a queued resource', () => {
  it('ends when the request is queued, long before it is ACTIVE', () => {
    const c = new PureCloud({ ...SECOND, capacity: { [`${ZONE}/v5litepod`]: 0 } });
    const operation = c.queue('a');
    assert.equal(c.outcome(operation), 'open');
    c.step(1000);
    assert.deepEqual([c.outcome(operation), c.stateOf('a')], ['ok', 'WAITING_FOR_RESOURCES']);
  });

  it('fails when the request is deleted before', () => {
    const c = new PureCloud(SECOND);
    const operation = c.queue('a');
    remove(true)(c);
    assert.equal(c.outcome(operation), '10 The resource is being deleted.');
  });

  it('goes on when it is cancelled or forgotten: neither takes the request back', () => {
    const c = new PureCloud(SECOND);
    const [cancelled, forgotten] = [c.queue('a'), c.queue('b')];
    c.cloud.cancelOperation(cancelled.name);
    c.cloud.deleteOperation(forgotten.name);
    assert.equal(c.cloud.state.operations[cancelled.name]?.cancelRequested, true);
    assert.throws(() => c.cloud.cancelOperation(forgotten.name), { code: 5 });
    c.step(1000);
    assert.deepEqual(
      [c.outcome(cancelled), c.stateOf('a'), c.stateOf('b')],
      ['ok', ...Array<string>(2).fill('WAITING_FOR_RESOURCES')],
    );
  });
});
