import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { RehearsalAdmin } from '../../cli/local/rehearsal/rehearsal-admin.js';
import { requireConfinement } from '../../cli/local/rehearse/private-stack.js';
import { CliError } from '../../cli/terminal/cli-error.js';

/** A kernel without mount namespaces cannot be had here, so the answer of a rehearsal on one stands in for it. */
describe('a rehearsal where nothing keeps the job from the files of this computer', () => {
  const server = createServer((_request, response) => response.end(JSON.stringify(answer)));
  let answer: object = {};
  let admin: RehearsalAdmin;
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    admin = new RehearsalAdmin(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
  after(() => server.close());

  for (const [name, said] of Object.entries({ 'says so': { confinement: 'none' }, 'says nothing of it': {} })) {
    it(`is refused where the cloud ${name}, with what is not protected`, async () => {
      answer = { ...said, confinementReason: 'no mount namespaces: unshare failed' };
      await assert.rejects(requireConfinement(admin, false), (error) => {
        assert.ok(error instanceof CliError);
        assert.equal(error.exitCode, 4);
        assert.match(
          error.message,
          /it would run as you[^]*no mount namespaces: unshare failed[^]*your home folder[^]*--unconfined/,
        );
        return true;
      });
    });
  }

  it('runs where the user agreed, or where each VM has a root of its own', async () => {
    answer = { confinement: 'none' };
    assert.equal(await requireConfinement(admin, true), 'none');
    answer = { confinement: 'overlay' };
    assert.equal(await requireConfinement(admin, false), 'overlay');
  });
});
