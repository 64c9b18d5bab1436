import assert from 'node:assert/strict';
import { join } from 'node:path';
import { resolveTemporalCli } from '../../client/cli/dev/temporal-server/resolve.js';
import { commandsOf, type DocCommand, docPages } from '../docs/commands.js';
import { isIn, LEFT_OUT, RUN_ELSEWHERE } from '../docs/left-out.js';
import { Reader, spareJob } from '../docs/reader.js';
import { BEFORE, BEGUN, COMMAND_MS, EXIT_CODES, sceneOf, SLOW } from '../docs/scenes.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';

const ROOT = join(import.meta.dirname, '../..');

describe('commands of the documentation', function () {
  this.timeout(COMMAND_MS + 10_000);
  let reader: Reader;
  const all = docPages(ROOT).flatMap((page) => commandsOf(ROOT, page));
  /** A transcript of a command that a page gives is run there. */
  const isRepeated = ({ text, isTranscript }: DocCommand): boolean =>
    isTranscript && all.some((other) => !other.isTranscript && other.text.replace(/^npx /u, '') === text);
  const commands = all.filter((one) => !isIn(LEFT_OUT, one) && !isIn(RUN_ELSEWHERE, one) && !isRepeated(one));

  before(async () => {
    reader = new Reader((await resolveTemporalCli({ onProgress: () => undefined })).path);
  });
  after(() => reader.leave());

  for (const page of new Set(commands.map((one) => one.page))) {
    describe(page, () => {
      const ofPage = commands.filter((one) => one.page === page);
      before(async function () {
        this.timeout(TEMPORAL_START_MS);
        reader.opens(page);
        await passes(BEGUN, 'before');
        if (ofPage.some((one) => /\bJOB\b/u.test(one.text)))
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
    const { code, output } = await reader.runs(command, page);
    assert.equal(code, sceneOf(EXIT_CODES, page, command)?.code ?? 0, output);
  }
});
