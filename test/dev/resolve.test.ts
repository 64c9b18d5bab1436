import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cachedCliPath } from '../../cli/local/dev/temporal-server/executables.js';
import {
  NoTemporalCli,
  resolveTemporalCli,
  WAYS,
  type ResolveOptions,
  type TemporalCli,
  parseTemporalVersion,
} from '../../cli/local/dev/temporal-server/resolve.js';

const SYSTEM_PATH = '/usr/bin:/bin';
const prints = (line: string): string => `#!/bin/sh\necho '${line}'\n`;
const GOOD = prints('temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)');

describe('the resolver of the Temporal CLI', () => {
  let folder: string;
  let said: string[];
  let servers: Server[];
  let closed: string;

  before(async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    closed = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.close();
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'jobctl-resolve-'));
    said = [];
    servers = [];
  });
  afterEach(() => {
    for (const server of servers) server.close().closeAllConnections();
    rmSync(folder, { recursive: true });
  });

  const file = (name: string, content: string): string => {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    chmodSync(path, 0o755);
    return path;
  };
  /** An environment with nothing in it but what `more` adds. */
  const environment = (more: Record<string, string> = {}): Record<string, string> => ({
    HOME: join(folder, 'home'),
    XDG_CACHE_HOME: join(folder, 'cache'),
    PATH: SYSTEM_PATH,
    ...more,
  });
  const resolveIn = (env: Record<string, string>, options: Partial<ResolveOptions> = {}): Promise<TemporalCli> =>
    resolveTemporalCli({ env, downloadUrl: closed, onProgress: (line) => said.push(line), ...options });
  const fillCacheWith = (content: string): string => file('cache/jobctl/temporal/1.5.1/temporal', content);
  const serve = async (listener: RequestListener): Promise<string> => {
    const server = createServer(listener);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const reasonsIn = async (
    env: Record<string, string>,
    options: Partial<ResolveOptions> = {},
  ): Promise<NoTemporalCli> => {
    const err: unknown = await resolveIn(env, options).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    assert.ok(err instanceof NoTemporalCli, `expected NoTemporalCli, got ${String(err)}`);
    return err;
  };
  /** A Go that knows the module and builds `built`; each build leaves a line in builds.log. */
  const stubGo = (built: string, whileBuilding = ''): string => {
    const source = file('built', built);
    file(
      'go/go',
      `#!/bin/sh\n[ "$1" = list ] && exit 0\necho "$@" >> ${folder}/builds.log\n${whileBuilding}\ncp ${source} "$GOBIN/temporal"\n`,
    );
    return `${join(folder, 'go')}:${SYSTEM_PATH}`;
  };
  const leftBesideCache = (): string[] => readdirSync(join(folder, 'cache/jobctl/temporal/1.5.1'));

  describe('takes the first that works:', () => {
    it('JOBCTL_TEMPORAL_CLI before PATH', async () => {
      const configured = file('mine/cli', GOOD);
      file('bin/temporal', GOOD);
      const found = await resolveIn(environment({ JOBCTL_TEMPORAL_CLI: configured, PATH: `${folder}/bin` }));
      assert.deepEqual(found, { path: configured, version: '1.5.1 (server 1.29.1)', how: 'JOBCTL_TEMPORAL_CLI' });
      assert.deepEqual(said, [`Temporal CLI 1.5.1 (server 1.29.1) by JOBCTL_TEMPORAL_CLI: ${configured}`]);
    });

    it('PATH before the cache', async () => {
      fillCacheWith(GOOD);
      const path = file('bin/temporal', GOOD);
      const found = await resolveIn(environment({ PATH: `/nowhere:${folder}/bin` }));
      assert.deepEqual([found.how, found.path], ['PATH', path]);
    });

    it('the cache before the network', async () => {
      const path = fillCacheWith(GOOD);
      let calls = 0;
      const downloadUrl = await serve((_, response) => void (calls++, response.end()));
      const found = await resolveIn(environment(), { downloadUrl });
      assert.deepEqual([found.how, found.path, calls], ['cache', path, 0]);
      assert.equal(said.length, 1, 'ways that nobody prepared are no news');
    });

    it('the cache of HOME without XDG_CACHE_HOME', () => {
      assert.equal(cachedCliPath({ HOME: '/home/ann' }), '/home/ann/.cache/jobctl/temporal/1.5.1/temporal');
    });
  });

  describe('goes on, and says why, when', () => {
    const broken: Record<string, { script: string; reason: RegExp }> = {
      'it is too old': {
        script: prints('temporal version 1.0.0 (Server 1.24.2, UI 2.28.0)'),
        reason: /version 1\.0\.0 and has server 1\.24\.2; too old: server 1\.25\.0/,
      },
      'it has no server inside': { script: prints('temporal version 0.1.0'), reason: /has no server inside; too old/ },
      'it is another program': { script: prints('hello'), reason: /does not print a version of the Temporal CLI/ },
      'it fails': { script: '#!/bin/sh\necho boom >&2\nexit 3\n', reason: /--version failed \(boom\)/ },
    };
    for (const [name, { script, reason }] of Object.entries(broken)) {
      it(`what JOBCTL_TEMPORAL_CLI names exists, but ${name}`, async () => {
        fillCacheWith(GOOD);
        const found = await resolveIn(environment({ JOBCTL_TEMPORAL_CLI: file('mine', script) }));
        assert.equal(found.how, 'cache');
        assert.match(said[0] ?? '', reason);
      });
    }

    it('what JOBCTL_TEMPORAL_CLI names does not exist', async () => {
      fillCacheWith(GOOD);
      assert.equal((await resolveIn(environment({ JOBCTL_TEMPORAL_CLI: '/no/such' }))).how, 'cache');
      assert.equal(said[0], 'Temporal CLI by JOBCTL_TEMPORAL_CLI: /no/such does not exist');
    });
  });

  describe('downloads', () => {
    const archiveServer = (archive: Buffer, cutAt?: number): Promise<string> =>
      serve((request, response) => {
        const base = `http://${request.headers.host ?? ''}`;
        if (request.url?.startsWith('/temporal-cli/v1.5.1?') === true) {
          response.end(JSON.stringify({ archiveUrl: `${base}/archive`, fileToExtract: 'temporal' }));
          return;
        }
        response.setHeader('content-length', archive.length);
        if (cutAt === undefined) response.end(archive);
        else response.write(archive.subarray(0, cutAt), () => response.destroy());
      });
    const archiveOf = (content: string): Buffer => {
      file('packed/temporal', content);
      execFileSync('tar', ['-czf', join(folder, 'packed.tgz'), '-C', join(folder, 'packed'), 'temporal']);
      return readFileSync(join(folder, 'packed.tgz'));
    };

    /** Whatever this computer is. */
    const hashesOf = (archive: Buffer): Record<string, string> => {
      const hash = createHash('sha256').update(archive).digest('hex');
      return Object.fromEntries(
        ['linux', 'darwin'].flatMap((os) => [`${os}_amd64`, `${os}_arm64`].map((name) => [name, hash])),
      );
    };

    it('the archive that the service names, once: the next time the cache has it', async () => {
      const archive = archiveOf(GOOD);
      const options = { downloadUrl: await archiveServer(archive), hashes: hashesOf(archive) };
      const path = cachedCliPath(environment());
      assert.deepEqual(await resolveIn(environment(), options).then(({ how, path: at }) => [how, at]), [
        'download',
        path,
      ]);
      assert.equal((await resolveIn(environment())).how, 'cache');
      assert.deepEqual(leftBesideCache(), ['temporal']);
    });

    it('nothing into the cache when the line is cut, or the executable is bad', async () => {
      const archive = archiveOf(GOOD);
      const cut = await reasonsIn(environment(), { downloadUrl: await archiveServer(archive, archive.length - 10) });
      assert.match(cut.reasons.download, /terminated|aborted|premature/i);
      const hello = archiveOf(prints('hello'));
      const bad = await reasonsIn(environment(), {
        downloadUrl: await archiveServer(hello),
        hashes: hashesOf(hello),
      });
      assert.match(bad.reasons.download, /does not print a version/);
      assert.deepEqual(leftBesideCache(), []);
    });

    it('F15: nothing whose hash is not the one that jobctl knows', async () => {
      const archive = archiveOf(GOOD);
      const { reasons } = await reasonsIn(environment(), { downloadUrl: await archiveServer(archive) });
      assert.match(reasons.download, /\/archive has SHA-256 [0-9a-f]{64}, expected [0-9a-f]{64}: it was not unpacked/);
      assert.deepEqual(leftBesideCache(), []);
    });

    it('not from an address that is silent: given up after the probe time', async () => {
      const { reasons } = await reasonsIn(environment(), {
        downloadUrl: await serve(() => undefined),
        probeTimeoutMs: 200,
      });
      assert.match(reasons.download, /cannot be reached \(no answer in time\)/);
    });

    it('not for a platform that Temporal does not build for', async () => {
      const { reasons } = await reasonsIn(environment(), { platform: 'aix', arch: 'ppc64' });
      assert.equal(reasons.download, 'there is no Temporal CLI for aix on ppc64');
    });
  });

  describe('builds with Go', () => {
    it('where a download cannot be reached, the pinned version, once', async () => {
      const PATH = stubGo(GOOD);
      const found = await resolveIn(environment({ PATH }));
      assert.equal(found.how, 'go install');
      assert.equal(
        readFileSync(join(folder, 'builds.log'), 'utf8'),
        'install github.com/temporalio/cli/cmd/temporal@v1.5.1\n',
      );
      assert.match(said[0] ?? '', /by download: http:\/\/127\.0\.0\.1:\S+ cannot be reached \(ECONNREFUSED\)/);
      assert.equal((await resolveIn(environment({ PATH }))).how, 'cache');
    });

    it('once for two that resolve at the same time; the second says that it waits', async () => {
      const PATH = stubGo(GOOD, `while [ ! -e ${folder}/go-on ]; do sleep 0.02; done`);
      const goOn = (line: string): void => {
        said.push(line);
        if (line.startsWith('Waiting for process')) file('go-on', '');
      };
      const both = await Promise.all([1, 2].map(() => resolveIn(environment({ PATH }), { onProgress: goOn })));
      assert.deepEqual(new Set(both.map(({ path }) => path)), new Set([cachedCliPath(environment())]));
      assert.equal(readFileSync(join(folder, 'builds.log'), 'utf8').trim().split('\n').length, 1);
      assert.deepEqual(leftBesideCache(), ['temporal']);
    });

    it('and leaves nothing when the build fails', async () => {
      const { reasons } = await reasonsIn(environment({ PATH: stubGo(GOOD, 'echo no space left >&2; exit 1') }));
      assert.match(reasons['go install'], /go install \S+ ended with 1: no space left/);
      assert.deepEqual(leftBesideCache(), []);
    });

    it('not when its proxy is off: the real Go says so in seconds', async () => {
      const go = execFileSync('sh', ['-c', 'command -v go'], { encoding: 'utf8' }).trim();
      const env = environment({
        PATH: `${dirname(go)}:${SYSTEM_PATH}`,
        GOPROXY: 'off',
        // A child of Go's writes its counters there when Go has ended: not into a folder that is being removed.
        XDG_CONFIG_HOME: join(homedir(), '.config'),
        GOMODCACHE: join(folder, 'none'),
      });
      const { reasons } = await reasonsIn(env);
      assert.match(reasons['go install'], /go cannot get github\.com\/temporalio\/cli@v1\.5\.1: .*GOPROXY=off/);
    });

    it('not when its proxy is silent', async () => {
      const PATH = `${join(folder, 'go')}:${SYSTEM_PATH}`;
      file('go/go', '#!/bin/sh\nexec sleep 30\n');
      const { reasons } = await reasonsIn(environment({ PATH }), { probeTimeoutMs: 200 });
      assert.equal(reasons['go install'], "Go's module proxy gave no answer in 0.2 s");
    });
  });

  it('names every way with its reason, and what to do, when none works', async () => {
    const { message } = await reasonsIn(environment({ JOBCTL_TEMPORAL_CLI: '/no/such' }));
    for (const way of WAYS) assert.match(message, new RegExp(`^ {2}${way}: .+$`, 'm'));
    assert.match(message, /cache: \S+\/temporal is not there yet/);
    assert.match(message, /go install: Go is not installed/);
    assert.match(message, /What to do: .*JOBCTL_TEMPORAL_CLI.*--temporal-address/);
    assert.ok(!existsSync(cachedCliPath(environment())));
  });

  it('reads the version that `go install` leaves, and none in other text', () => {
    const stamped = parseTemporalVersion('temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)\n');
    assert.deepEqual(stamped, { cli: '0.0.0-DEV', server: '1.29.1' });
    assert.equal(parseTemporalVersion('tctl 1.18'), undefined);
  });
});
