import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { modulePlans } from '../../activities/module-plans.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import type { GcsfuseMount } from '../../domain/modules/gcsfuse.js';
import { judgeSetUpFailure } from '../../domain/set-up-record.js';
import { needsConfinement } from '../../rehearsal/test/needs-confinement.js';
import { applyModule } from '../hosts/apply-modules.js';
import { countingCalls } from '../hosts/round-trips.js';
import { never } from '../hosts/session.js';
import { VmWithModules } from '../hosts/vm-with-modules.js';
import { gcsfuseProgram, GO_BUILD_MS } from './built-by-go.js';

/** test/long/hosts/vm-modules.test.ts has more cases, by the rehearsal's small gcsfuse. */
describe('the module gcsfuse, by Google’s own gcsfuse', function () {
  this.timeout(120_000);
  const host = new VmWithModules();
  const { vm } = host;

  before(async function () {
    needsConfinement(this);
    // No /dev/fuse here. Pending, not green: .ci/long forbids pending tests.
    if (!existsSync('/dev/fuse')) this.skip();
    this.timeout(GO_BUILD_MS);
    const program = await gcsfuseProgram();
    await host.start();
    await host.connection.putFile(readFileSync(program), '~/gcsfuse', { mode: 0o755, signal: never });
    await vm.run('sudo mv ~/gcsfuse /usr/local/bin/gcsfuse; gsutil mb gs://corpus; gsutil mb gs://other');
    await vm.run('echo hello | gsutil cp - gs://corpus/d/a; echo x | gsutil cp - gs://other/x');
  });
  after(() => host.stop());

  const corpus: GcsfuseMount = {
    bucket: 'corpus',
    path: '~/my corpus',
    cache: { dir: '/mnt/cache', metadataTtlSecs: 0, fileCacheMaxSizeMb: 10, cacheFileForRangeRead: true },
  };
  const other: GcsfuseMount = { bucket: 'other', path: '~/my corpus' };
  const plan = (...mounts: readonly GcsfuseMount[]): ModulePlan =>
    modulePlans({ modules: ['gcsfuse'], gcsfuse: mounts }, { files: new Map(), keys: [] })[0] ?? assert.fail('no plan');
  const kindOf = async (...mounts: readonly GcsfuseMount[]): Promise<string> => {
    const { kind, output } = await applyModule(host.connection, plan(...mounts));
    assert.notEqual(kind, 'failed', output);
    return kind;
  };

  it('mounts a bucket for everybody with its cache, and is unchanged in one call', async () => {
    assert.equal(await kindOf(corpus), 'done');
    assert.equal(await host.print('cat ~/my\\ corpus/d/a; sudo cat ~/my\\ corpus/d/a'), 'hello\nhello\n');
    const running = await host.print(`tr '\\0' ' ' < /proc/$(pgrep -o -f 'gcsfuse.*corpus')/cmdline`);
    assert.match(running, /^\/usr\/local\/bin\/gcsfuse .*--file-cache-max-size-mb=10 .*corpus/);
    assert.equal(await host.print('echo new > ~/my\\ corpus/new; gsutil cat gs://corpus/new'), 'new\n');
    assert.match(await host.print('sudo find /mnt/cache -type f | head -n 1'), /gcsfuse-file-cache.*corpus/);
    assert.deepEqual(await countingCalls(() => kindOf(corpus)), { result: 'unchanged', calls: 1 });
  });

  it('mounts another bucket in its place, and mends a mount whose gcsfuse was killed', async () => {
    assert.equal(await kindOf(other), 'done');
    assert.equal(await host.print('cat ~/my\\ corpus/x; findmnt -rn -M ~/my\\ corpus | wc -l'), 'x\n1\n');
    const gcsfuse = "'^/usr/local/bin/gcsfuse.*other'";
    await vm.run(`sudo pkill -9 -f ${gcsfuse}; while pgrep -f ${gcsfuse}; do sleep 0.1; done`);
    assert.equal(await kindOf(other), 'done');
    assert.equal(await host.print('cat ~/my\\ corpus/x'), 'x\n');
    assert.equal(await kindOf(other), 'unchanged');
  });

  it('is whole after a set-up that was stopped in any of its steps', async () => {
    const second = { ...corpus, path: '/mnt/deep/corpus' };
    for (const step of plan(other, second).steps.map(({ name }) => name)) {
      await host.connection.forgetModules(['gcsfuse']);
      const stop = new AbortController();
      const listener = {
        onOutput: () => undefined,
        onStep: (event: { readonly step: string }) => void (event.step === step && stop.abort(new Error('stopped'))),
      };
      await assert.rejects(host.connection.applyModules([plan(other, second)], listener, stop.signal), /stopped/);
      assert.equal(await kindOf(other, second), 'done', step);
      assert.equal(await host.print('cat ~/my\\ corpus/x /mnt/deep/corpus/d/a'), 'x\nhello\n', step);
      assert.equal(await kindOf(other, second), 'unchanged', step);
    }
  });

  it('says at once that there is no such bucket', async () => {
    const failed = await applyModule(host.connection, plan({ bucket: 'nobody-has-this', path: '~/n' }));
    assert.ok(failed.kind === 'failed' && failed.step === 'mount nobody-has-this', failed.output);
    assert.equal(judgeSetUpFailure(failed.code, failed.tail).kind, 'permanent', failed.tail);
  });
});
