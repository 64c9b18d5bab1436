import assert from 'node:assert/strict';
import { setMaxListeners } from 'node:events';
import { DeadHostWatch, type DeadHostParts } from '../../activities/attempt/supervise.js';
import { Routes, type WatchedHost } from '../../activities/attempt/routes.js';

const host = (index: number): WatchedHost =>
  ({
    target: { slice: 0, index, uid: 'u' },
    ...{ route: 'r', sign: `sign-${index}` },
    isSilent: () => index === 1,
    ask: async () => undefined,
  }) as unknown as WatchedHost;

describe('a host that does not answer, while another does', () => {
  it('is dead when its sign alone went stale: that the other renews its own is known from look to look', async () => {
    const over = new AbortController();
    setMaxListeners(0, over.signal);
    let signs = 0;
    const dead = await new Promise<unknown>((resolve, reject) => {
      const parts = {
        routes: new Routes(),
        hosts: [host(0), host(1)],
        store: {
          read: async (sign: string) =>
            Buffer.from(`{"v":1,"run":"r","signs":${sign === 'sign-0' ? (signs += 1) : 7}}`),
        },
        unreachable: { since: ({ index }: { readonly index: number }) => (index === 1 ? Date.now() : undefined) },
        guard: { lookAt: async () => ({ kind: 'ready' }), reportDead: resolve },
        input: { spec: {}, settings: { timings: { unreachableLookMs: 5, signStaleMs: 200 } } },
        signal: over.signal,
      } as unknown as DeadHostParts;
      new DeadHostWatch(parts).run().catch(reject);
    }).finally(() => over.abort());
    const { host: index, sign, others, silence } = dead as Record<string, unknown>;
    assert.deepEqual(
      { index, sign, others, silence },
      { index: 1, sign: 'stale', others: 'answer, with fresh signs', silence: 'within timeouts.unreachable' },
    );
  });
});
