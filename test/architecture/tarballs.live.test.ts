import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { buildInputs, isBuildCurrent } from '../../scripts/build-inputs.js';
import { PACKAGES } from '../../scripts/packages.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Packages that jobctl loads if they are installed beside it; cli/place/packages.ts says how to get them. */
const SEPARATE = PACKAGES.map(({ name }) => name).filter((name) => name !== 'jobctl');
/** A licence belongs into each tarball. */
const IN_EACH = new Set(['LICENSE']);

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

interface Tarball {
  readonly name: string;
  readonly manifest: Manifest;
  /** Paths in the tarball. */
  readonly files: readonly string[];
  readonly read: (file: string) => Buffer;
}

/** What `npm pack` puts into the package's tarball, by npm's own account. */
function tarballOf(folder: string): Tarball {
  const cwd = join(ROOT, folder);
  const args = ['pack', '--json', '--dry-run', '--ignore-scripts'];
  const text = execFileSync('npm', args, { cwd, stdio: ['ignore', 'pipe', 'ignore'] }).toString();
  const [answer] = Object.values(JSON.parse(text) as Record<string, { files: readonly { path: string }[] }>);
  const read = (file: string): Buffer => readFileSync(join(cwd, file));
  const manifest = JSON.parse(read('package.json').toString()) as Manifest;
  return { name: manifest.name, manifest, files: (answer?.files ?? []).map(({ path }) => path), read };
}

describe('what is published', function () {
  this.timeout(60_000);
  let tarballs: readonly Tarball[];
  before(() => {
    assert.ok(isBuildCurrent(ROOT), 'dist/ is not of these sources: npm run build');
    tarballs = PACKAGES.map(({ folder }) => tarballOf(folder));
  });

  it('is packed once: no two files of the tarballs have the same content', () => {
    const places = new Map<string, string[]>();
    for (const { name, files, read } of tarballs) {
      for (const file of files.filter((each) => !IN_EACH.has(each))) {
        const hash = createHash('sha256').update(read(file)).digest('hex');
        places.set(hash, [...(places.get(hash) ?? []), `${name}: ${file}`]);
      }
    }
    assert.ok(places.size > 500, `only ${places.size} files`);
    assert.deepEqual(
      [...places.values()].filter((each) => each.length > 1),
      [],
    );
  });

  it('holds what is built, with README and licence; no source, no test, no map', () => {
    for (const { name, files } of tarballs) {
      for (const file of ['package.json', 'README.md', 'LICENSE'])
        assert.ok(files.includes(file), `${name}: no ${file}`);
      const wrong = /(^|\/)(test|bench|node_modules|\.[^/]*)\/|[^d]\.ts$|\.map$/;
      const ofDist = files.filter((file) => !file.startsWith('examples/') && wrong.test(file));
      assert.deepEqual(ofDist, [], name);
    }
  });

  it('has each script that VMs and pods of the rehearsal run', () => {
    const scripts = buildInputs(ROOT).sources.filter(
      (file) => /^rehearsal\/(vm|kubernetes)\//.test(file) && !file.endsWith('.ts'),
    );
    assert.ok(scripts.includes('rehearsal/kubernetes/images/ray/ray') && scripts.length > 10, scripts.join());
    const packed = new Set(tarballs[0]?.files);
    assert.deepEqual(
      scripts.filter((file) => !packed.has(file.replace('rehearsal/', 'dist/'))),
      [],
    );
  });

  it('imports only what its manifest names; the separate packages only by `await import`', () => {
    for (const { name, manifest, files, read } of tarballs) {
      const named = new Set([name, ...Object.keys(manifest.dependencies)]);
      const wrong = files
        .filter((file) => file.startsWith('dist/') && /\.m?js$/.test(file) && !file.includes('workflow-bundle'))
        .flatMap((file) => importsOf(read(file).toString()).map((each) => ({ file, ...each })))
        .filter(({ imported, isDynamic }) => !named.has(imported) && !(isDynamic && SEPARATE.includes(imported)));
      assert.deepEqual(wrong, [], name);
    }
  });

  it('leaves out of jobctl what only a worker or the rehearsal needs', () => {
    const jobctl = tarballs.find(({ name }) => name === 'jobctl') as Tarball;
    const heavy = [
      ...['@temporalio/worker', '@temporalio/workflow', '@google-cloud/tpu', 'google-gax', 'fastify', 'pino'],
      '@kubernetes/client-node',
    ];
    assert.deepEqual(
      heavy.filter((name) => name in jobctl.manifest.dependencies),
      [],
    );
  });

  it('has one version, and the worker needs exactly that of jobctl; the rehearsal needs nothing of ours', () => {
    const [rehearsal, jobctl, worker] = tarballs.map(({ manifest }) => manifest);
    assert.deepEqual([rehearsal?.version, worker?.version], [jobctl?.version, jobctl?.version]);
    assert.equal(worker?.dependencies['jobctl'], jobctl?.version);
    const ours = Object.keys(rehearsal?.dependencies ?? {}).filter((name) => /^(jobctl$|@jobctl\/)/.test(name));
    assert.deepEqual(ours, []);
  });

  it('asks for one range of a dependency that several manifests name', () => {
    const ranges = new Map<string, Set<string>>();
    for (const { manifest } of tarballs) {
      const { dependencies, devDependencies = {} } = manifest;
      for (const [name, range] of Object.entries({ ...dependencies, ...devDependencies })) {
        if (name !== 'jobctl') ranges.set(name, (ranges.get(name) ?? new Set()).add(range));
      }
    }
    assert.deepEqual(
      [...ranges].filter(([, each]) => each.size > 1).map(([name, each]) => [name, ...each]),
      [],
    );
  });
});

interface PackageImport {
  readonly imported: string;
  readonly isDynamic: boolean;
}

/** Packages, without Node's own, that a built module imports. */
function importsOf(text: string): readonly PackageImport[] {
  return ts
    .preProcessFile(text, true, true)
    .importedFiles.filter(({ fileName }) => !/^[./]|^node:/.test(fileName) && !builtinModules.includes(fileName))
    .map(({ fileName, pos }) => ({
      imported: fileName.split('/', fileName.startsWith('@') ? 2 : 1).join('/'),
      isDynamic: /\(\s*['"]?$/.test(text.slice(0, pos)),
    }));
}
