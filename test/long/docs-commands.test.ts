import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveTemporalCli } from '../../cli/local/dev/temporal-server/resolve.js';
import { commandsOf, type DocCommand, docPages } from '../docs/commands.js';
import { isIn, LEFT_OUT, RUN_ELSEWHERE } from '../docs/left-out.js';
import { Reader, spareJob } from '../docs/reader.js';
import { AT_GOOGLE, BEFORE, BEGUN, COMMAND_MS, EXIT_CODES, JUST_BEFORE, sceneOf, SLOW } from '../docs/scenes.js';
import { clientEnvironment } from '../../rehearsal/client-environment.js';
import { AuthenticatedCloud } from '../../rehearsal/test/authenticated-cloud.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';

const ROOT = join(import.meta.dirname, '../..');

describe('commands of the documentation', function () {
  this.timeout(COMMAND_MS + 10_000);
  const google = new AuthenticatedCloud();
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-docs-google-'));
  let reader: Reader;
  const all = docPages(ROOT).flatMap((page) => commandsOf(ROOT, page));
  /** A transcript of a command that a page gives is run there. */
  const isRepeated = ({ text, isTranscript }: DocCommand): boolean =>
    isTranscript && all.some((other) => !other.isTranscript && other.text.replace(/^npx /u, '') === text);
  const commands = all.filter((one) => !isIn(LEFT_OUT, one) && !isIn(RUN_ELSEWHERE, one) && !isRepeated(one));

  before(async () => {
    await google.start();
    await google.become({ roles: ['roles/owner'] });
    const { path } = await resolveTemporalCli({ onProgress: () => undefined });
    reader = new Reader(path, await loginAt(google, folder));
  });
  after(async () => {
    await reader.leave();
    await google.stop();
    rmSync(folder, { recursive: true });
  });

  for (const page of new Set(commands.map((one) => one.page))) {
    describe(page, () => {
      const ofPage = commands.filter((one) => one.page === page);
      before(async function () {
        this.timeout(TEMPORAL_START_MS);
        reader.opens(page);
        await passes(BEGUN, 'before');
        if (ofPage.some((one) => /\bJOB\b/u.test(one.text)) && sceneOf(AT_GOOGLE, page, 'JOB') === undefined)
          await passes(`jobctl submit --local 7f3k.yaml --name ${spareJob(page)}`, 'before');
        for (const command of BEFORE[page] ?? []) await passes(command, page);
      });
      for (const { text, line } of ofPage)
        it(`${line}: ${text.split('\n')[0] ?? ''}`, () => passes(text, page)).timeout(
          (sceneOf(SLOW, page, text)?.ms ?? COMMAND_MS) + 10_000,
        );
      it('ends what was left running', async () => {
        const ended = await reader.beside();
        assert.ok(ended === undefined || ended.code === 0, ended?.output);
      }).timeout(SLOW[0]?.ms ?? COMMAND_MS);
    });
  }

  async function passes(command: string, page: string): Promise<void> {
    const first = sceneOf(JUST_BEFORE, page, command);
    if (first !== undefined) await passes(first.runs, page);
    const { code, output } = await reader.runs(command, page);
    const codes = sceneOf(EXIT_CODES, page, command)?.codes ?? [0];
    assert.ok(codes.includes(code ?? -1), `exit code ${code}, not ${codes.join(' or ')}:\n${output}`);
  }
});

/** What the shell of a person has who logged in at Google, with the rehearsal in Google's place. */
async function loginAt(google: AuthenticatedCloud, folder: string): Promise<Record<string, string>> {
  const { endpoints } = google;
  const gcloudTokenFile = join(folder, 'token');
  writeFileSync(gcloudTokenFile, await google.token());
  const place = { project: 'my-project', zone: 'us-central1-a', gcloudConfig: join(folder, 'gcloud'), gcloudTokenFile };
  // jobctl and gcloud are told where Google is; Google's libraries in jobctl are not to think that it is an emulator.
  const { STORAGE_EMULATOR_HOST: _, GCE_METADATA_HOST: __, ...client } = clientEnvironment(endpoints, place);
  return {
    ...client,
    JOBCTL_GOOGLE_API_ENDPOINT: endpoints.rest,
    JOBCTL_TPU_REST_ENDPOINT: endpoints.rest,
    JOBCTL_STORE_ENDPOINT: endpoints.store,
    JOBCTL_TPU_ENDPOINT: endpoints.tpu,
    NODE_NO_WARNINGS: '1',
  };
}
