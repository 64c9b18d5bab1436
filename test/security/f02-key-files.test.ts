import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { submittersKey } from '../../activities/connecting-key.js';
import type { Installation } from '../../activities/dependencies.js';
import { checkSetUpInputs } from '../../activities/set-up-inputs.js';
import { keyReader } from '../../cloud/hosts/private-key.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { writeKeyPair } from '../end-to-end/key-pair.js';

/**
 * F2: a direct start without fingerprints had any key file of the worker copied to the submitter's host, the installation's own
 * too. At 19b9c1e both are read and handed on, and a path that is not there answers otherwise than one that is.
 */
describe('F2: key files of a worker', () => {
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-f02-'));
  const own = writeKeyPair(folder);
  const team = {
    keys: keyReader,
    readsKeyFiles: false,
    publicKey: readFileSync(own.publicKeyFile, 'utf8'),
    sshKey: { privateKey: 'installed' },
  } as unknown as Installation;
  const identities = (privateKey: string): JobSpec => ({ identities: [{ privateKey }] }) as unknown as JobSpec;
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('are not read for a job, and the answer does not tell whether one is there', async () => {
    const answers = await Promise.all(
      [own.privateKeyFile, join(folder, 'none'), '/etc/passwd', '~/.ssh/id_ed25519'].map(async (path) => {
        const said = await checkSetUpInputs(team, identities(path), {}).catch((error: Error) => error.message);
        assert.equal(
          await submittersKey(team, { privateKey: path }).then(
            () => 'read',
            () => 'refused',
          ),
          'refused',
        );
        return String(said).replaceAll(path, 'PATH');
      }),
    );
    assert.match(answers[0] ?? '', /'PATH' is a path, and this worker reads no key files/);
    assert.equal(new Set(answers).size, 1);
  });

  it('no host gets the installation’s own key, also from a worker that reads key files', async () => {
    const local = { ...team, readsKeyFiles: true };
    await assert.rejects(
      checkSetUpInputs(local, identities(own.privateKeyFile), {}),
      /is the installation's own key, which no host gets/,
    );
  });
});
