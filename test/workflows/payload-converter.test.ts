import assert from 'node:assert/strict';
import type { Payload, SerializationContext } from '@temporalio/common';
import { payloadConverter } from '../../workflows/payload-converter.js';

const OF_WORKFLOW: SerializationContext = { type: 'workflow', namespace: 'n', workflowId: 'w' };
const OF_ACTIVITY: SerializationContext = { type: 'activity', namespace: 'n', isLocal: false };
const payload = (encoding: string | undefined, text: string): Payload => ({
  metadata: encoding === undefined ? {} : { encoding: Buffer.from(encoding) },
  data: Buffer.from(text),
});
const UNDECODABLE: Record<string, Payload> = {
  'of an encoding that the SDK does not know': payload('json/protobuf', '{}'),
  'that says JSON and is none': payload('json/plain', '{'),
  'without an encoding': payload(undefined, '{}'),
  'without metadata': { data: Buffer.from('{}') },
};

describe('the payloads of workflows', () => {
  for (const [what, undecodable] of Object.entries(UNDECODABLE)) {
    it(`${what}: nothing, where somebody sent it to a workflow`, () =>
      assert.equal(payloadConverter.fromPayload(undecodable, OF_WORKFLOW), undefined));
    it(`${what}: an error, where an activity returned it or nothing is known of it`, () => {
      assert.throws(() => payloadConverter.fromPayload(undecodable, OF_ACTIVITY));
      assert.throws(() => payloadConverter.fromPayload(undecodable));
    });
  }

  it('are else what the SDK makes of them, there and back', () => {
    for (const value of [undefined, null, 0, '', 'x', false, [], [1, { a: null }], { v: 1 }, new Uint8Array([1, 2])])
      assert.deepEqual(payloadConverter.fromPayload(payloadConverter.toPayload(value), OF_WORKFLOW), value);
  });
});
