import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Recording } from '../../client/cli/recordings/recording.js';
import { AuthenticatedCloud } from '../../rehearsal/test/authenticated-cloud.js';
import { Command } from './command.js';

const PROJECT = 'my-project';
const ZONE = 'us-central1-a';
const CONTRACT = ['contract', '--gcp', '--spend', '1', '--google-project', PROJECT, '--zone', ZONE, '--every', '100ms'];

describe('jobctl contract against the rehearsal, which asks for tokens', function () {
  this.timeout(60_000);
  const cloud = new AuthenticatedCloud();
  const home = mkdtempSync(join(tmpdir(), 'jobctl-contract-'));
  let user: Command;

  before(async () => {
    await cloud.start();
    user = new Command(cloud.endpoints, home, { GCE_METADATA_HOST: cloud.endpoints.metadataHost ?? '' });
  });
  after(async () => {
    await user.end();
    await cloud.stop();
    rmSync(home, { recursive: true });
  });
  beforeEach(() => cloud.become({ roles: ['roles/tpu.admin'] }));

  it('takes a slice through its life', async () => {
    const folder = join(home, 'life');
    const { code, stdout, stderr } = await user.run(...CONTRACT, '--yes', '--record', folder);
    console.log(code, stdout, stderr);
    for (const f of readdirSync(folder)) console.log(readFileSync(join(folder, f), 'utf8'));
  });

  it('doctor records', async () => {
    const folder = join(home, 'doctor');
    const { code, stdout, stderr } = await user.run('doctor', '--gcp', '--google-project', PROJECT, '--zone', ZONE, '--accelerator', 'v5litepod-8', '--record', folder);
    console.log(code, stdout, stderr);
    for (const f of readdirSync(folder)) console.log(f, readFileSync(join(folder, f), 'utf8').slice(0, 1500));
  });
});
