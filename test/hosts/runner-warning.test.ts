import assert from 'node:assert/strict';
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NOTICE, request } from './run.js';
import { withHost } from './session.js';

const RUN = '.jobctl/runs/train-x1-a1';
const OF_API = 'the provider says UNHEALTHY_MAINTENANCE of this slice';

describe('the on-host runner: what the provider warns of', () => {
  it('is there until the API warns no more, and the host says so to any worker', () =>
    withHost(async ({ connection, host, read }) => {
      const isWarned = async (): Promise<unknown> => {
        const status = await connection.runStatus('train-x1-a1');
        return status.kind === 'running' && status.isWarned;
      };
      await connection.startRun(request('sleep 60'));
      assert.equal(await isWarned(), undefined);
      await connection.warnRun('train-x1-a1', OF_API);
      assert.match(read(`${RUN}/warning`), /"cause":"maintenance".*UNHEALTHY_MAINTENANCE/);
      assert.equal(await isWarned(), true);
      await connection.warnRun('train-x1-a1', undefined);
      assert.equal(existsSync(join(host.home, RUN, 'warning')), false);
      assert.equal(await isWarned(), undefined);
      await connection.stopRun('train-x1-a1', 0, NOTICE);
    }));

  it("stays while the host's own metadata server warns, whatever becomes of the API's", () =>
    withHost(async ({ connection, host, read }) => {
      await connection.startRun(request('sleep 60'));
      const file = join(host.home, RUN, 'warning.host');
      writeFileSync(`${file}.new`, '{"v":1,"cause":"maintenance","reason":"of this host"}\n');
      renameSync(`${file}.new`, file);
      await connection.warnRun('train-x1-a1', OF_API);
      assert.match(read(`${RUN}/warning`), /UNHEALTHY_MAINTENANCE/);
      await connection.warnRun('train-x1-a1', undefined);
      assert.match(read(`${RUN}/warning`), /of this host/);
      await connection.stopRun('train-x1-a1', 0, NOTICE);
    }));
});
