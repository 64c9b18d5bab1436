import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { listenSomewhere, Stack } from './stack.js';

/** What it does when it is up: stack.live.test.ts. */
describe('the local stack', () => {
  describe('fails, and starts nothing, when', () => {
    let stack: Stack;
    beforeEach(() => {
      stack = new Stack({ XDG_CACHE_HOME: '/nowhere', PATH: '/usr/bin:/bin', JOBCTL_TEMPORAL_CLI: '/no/such' });
    });
    afterEach(async () => {
      assert.deepEqual(stack.processes(), []);
      await stack.remove();
    });

    it('the port that was asked for is in use', async () => {
      const { server, port } = await listenSomewhere();
      await assert.rejects(
        stack.up({ temporalPort: port }),
        new RegExp(
          `^PortTaken: port ${port} \\(Temporal server\\) is in use on 127\\.0\\.0\\.1; end what listens there`,
        ),
      );
      server.close();
    });

    it('there is no way to a Temporal server', async () => {
      await assert.rejects(
        stack.up(),
        /^NoTemporalCli: No Temporal server: [^]*JOBCTL_TEMPORAL_CLI: \/no\/such does not exist/,
      );
    });

    it('the quota file does not exist', async () => {
      await assert.rejects(stack.up({ quotaFile: '/no/quota.toml' }), /quota file \/no\/quota\.toml: does not exist/);
      assert.ok(!existsSync(stack.file('stack.json')));
    });
  });
});
