import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { makeComposeFolders } from './compose-folders.js';

const ROOT = join(import.meta.dirname, '../..');
const FILES = ['docker-compose.yml', 'docker-compose.verified.yml'];
/** Of every container of ours. */
const UID = 1000;

interface Service {
  readonly volumes?: readonly string[];
}
const servicesOf = (file: string): Readonly<Record<string, Service>> =>
  (parse(readFileSync(join(ROOT, file), 'utf8'), { merge: true }) as { services: Record<string, Service> }).services;
const SERVICES = [...new Set(FILES.flatMap((file) => Object.keys(servicesOf(file))))];

/** What a service sees of this computer, by both files, where no variable is set. */
function foldersOf(service: string): readonly string[] {
  const volumes = FILES.flatMap((file) => servicesOf(file)[service]?.volumes ?? []);
  const folders = volumes.map((volume) => volume.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1').split(':', 1)[0] ?? '');
  return folders.filter((folder) => folder.startsWith('./'));
}

/**
 * The folders as an operator makes them by the page, read as a container's account reads them. That compose starts with them is
 * test/long/compose/verified.test.ts.
 */
describe('H13: docker-compose.verified.yml, by the commands of docs/deployment.md', function () {
  this.timeout(120_000);
  let folder: string;

  before(function () {
    // Root alone gives files away; `.ci/run` is root, and fails what is skipped.
    if (process.getuid?.() !== 0) this.skip();
    folder = mkdtempSync(join(tmpdir(), 'jobctl-compose-folders-'));
    makeComposeFolders(folder, 'worker');
    writeFileSync(join(folder, 'server-config/serve.json'), '{}');
  });
  after(() => folder === undefined || rmSync(folder, { recursive: true }));

  /** What a container's account can read below a folder that is mounted into it. */
  const readBy = (mounted: string): readonly string[] => {
    const script = 'find . -type f -exec sh -c \'cat "$1" >/dev/null && echo "$1"\' _ {} \\;';
    // The daemon mounts the folder itself, so what lies above it is no border.
    const found = spawnSync('sh', ['-c', script], { cwd: join(folder, mounted), uid: UID, gid: UID, encoding: 'utf8' });
    return found.stdout.split('\n').filter(Boolean).toSorted();
  };

  it('S7: each container reads its own API key, the server the key that signs too', () => {
    const keys = Object.fromEntries(
      SERVICES.flatMap((service) => {
        const own = foldersOf(service).filter((each) => /^\.\/(api-keys|server-config)/u.test(each));
        return own.length === 0 ? [] : [[service, own.map((each) => `${each}: ${readBy(each).join(' ')}`)]];
      }),
    );
    const server = [
      './server-config: ./serve-key.pem ./serve-key.pem.pub ./serve.json',
      './api-keys/server: ./api-key',
    ];
    assert.deepEqual(keys, {
      keys: ['./api-keys/public: ./key-set.json'],
      setup: ['./api-keys/admin: ./api-key'],
      'setup-rehearsal': ['./api-keys/admin: ./api-key'],
      worker: ['./api-keys/worker: ./api-key'],
      'worker-rehearsal': ['./api-keys/worker: ./api-key'],
      server,
      'server-rehearsal': server,
    });
  });

  it('S7: a worker reads its folder, whatever umask the operator has', () => {
    assert.deepEqual(readBy('worker-config'), ['./serve-key.pem.pub', './worker.json']);
  });

  it('S7: no container reads what signs API keys, and no folder of one holds what signs jobs but the server’s', () => {
    const holder = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('signing-keys.json'),
    );
    assert.deepEqual(holder, ['api-keys/signing/signing-keys.json']);
    const denied = spawnSync('cat', [join(folder, holder[0] ?? '')], { uid: UID, gid: UID, encoding: 'utf8' });
    assert.match(denied.stderr, /Permission denied/);
    for (const service of SERVICES) {
      const seen = foldersOf(service).filter((each) => each !== './deploy/temporal' && each !== './deploy/rehearsal');
      for (const secret of ['./api-keys/signing/', ...(service.startsWith('server') ? [] : ['./server-config/'])])
        // A folder shows what is below it, too.
        assert.ok(!seen.some((each) => secret.startsWith(`${each}/`)), `${service}: ${secret}`);
    }
  });

  it('what an operator makes is in neither an image nor a commit', () => {
    const names = ['api-keys/admin/api-key', 'server-config/serve-key.pem', 'worker-config/worker.json', '.env'];
    const ignored = spawnSync('git', ['check-ignore', ...names], { cwd: ROOT, encoding: 'utf8' }).stdout;
    assert.deepEqual(ignored.trim().split('\n'), names);
    const context = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
    assert.equal(context.filter((line) => line !== '' && !line.startsWith('#'))[0], '*');
    for (const name of names) assert.ok(!context.includes(`!${name.split('/', 1)[0]}`), name);
  });
});
