import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGES } from '../../scripts/packages.js';
import { writeSboms } from '../../scripts/write-sbom.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
  readonly resolved?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

interface Bom {
  readonly bomFormat: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Component {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
}

/** What a release publishes beside each package: scripts/write-sbom.ts. */
describe('F16: the bills of materials', function () {
  this.timeout(60_000);
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, Locked>>;
  };
  const folder = mkdtempSync(join(tmpdir(), 'sbom-test-'));
  const boms = new Map<string, Bom>();

  before(async () => {
    for (const file of await writeSboms(folder)) {
      const bom = JSON.parse(readFileSync(file, 'utf8')) as Bom;
      boms.set(bom.metadata.component.name, bom);
    }
  });
  after(() => rmSync(folder, { recursive: true }));

  it('are one for each published package, in CycloneDX', () => {
    assert.deepEqual([...boms.keys()].sort(), PACKAGES.map(({ name }) => name).sort());
    for (const bom of boms.values()) assert.equal(bom.bomFormat, 'CycloneDX');
  });

  for (const { name, folder: path } of PACKAGES)
    it(`${name}: name every dependency that npm installs with it or that is in its page, in the version of the lock, and no other`, () => {
      const bom = boms.get(name) ?? assert.fail(`no bill of ${name}`);
      const wanted = new Set([
        ...installedWith(path === '.' ? '' : path),
        ...(name === 'jobctl' ? pageLibraries() : []),
      ]);
      assert.ok(wanted.size > 50, `${wanted.size} of ${name}`);
      assert.deepEqual(idsIn(bom.components), [...wanted].sort());
    });

  it('name, together, everything in the lock that is not for development alone', () => {
    const named = new Set([...boms.values()].flatMap(({ components }) => components.map(idOf)));
    const locked = Object.entries(packages).filter(
      ([at, { dev, link }]) => /node_modules\//u.test(at) && !dev && !link,
    );
    assert.ok(locked.length > 300, `${locked.length}`);
    const missing = locked.map(([at, { version }]) => `${nameAt(at)}@${version}`).filter((id) => !named.has(id));
    assert.deepEqual(missing, []);
  });

  it('carry the checksum of each dependency that the lock has one of, and where it comes from', () => {
    const sums = new Map(
      Object.entries(packages).map(([at, { version, integrity }]) => [`${nameAt(at)}@${version}`, integrity]),
    );
    let count = 0;
    for (const component of [...boms.values()].flatMap(({ components }) => components)) {
      assert.match(component.purl, /^pkg:npm\//u);
      const integrity = sums.get(idOf(component));
      if (integrity === undefined) continue;
      const sum = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
      assert.deepEqual(component.hashes, [{ alg: 'SHA-512', content: sum }], idOf(component));
      count++;
    }
    assert.ok(count > 500, `${count}`);
  });

  it('name each library of the page as a dependency of jobctl', () => {
    const { components, dependencies, metadata } = boms.get('jobctl') ?? assert.fail('no bill of jobctl');
    const own = dependencies.find(({ ref }) => ref === (metadata.component as { 'bom-ref'?: string })['bom-ref']);
    const libraries = pageLibraries();
    assert.ok(libraries.length >= 6 && libraries.includes(`react@${packages['node_modules/react']?.version}`));
    for (const id of libraries) {
      const refs = components
        .filter((component) => idOf(component) === id)
        .map((each) => (each as { 'bom-ref'?: string })['bom-ref']);
      assert.ok(refs.some((ref) => own?.dependsOn.includes(ref ?? '')) || own?.dependsOn.includes(id), id);
    }
  });

  /** What is bundled into the page, by the notices of its licenses (test/server/page.test.ts). */
  function pageLibraries(): readonly string[] {
    const notices = readFileSync(join(ROOT, 'dist/ui/THIRD-PARTY-NOTICES.txt'), 'utf8');
    return [...notices.matchAll(/(?:^|-{80}\n\n)(\S+) (\d\S*), .+\n/g)].map(
      ([, name, version]) => `${name}@${version}`,
    );
  }

  /** Ids of what Node.js would find from the package at `path` on, and from there. */
  function installedWith(path: string): ReadonlySet<string> {
    const seen = new Set<string>();
    const waiting = [path];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      const { dependencies, optionalDependencies, peerDependencies } = packages[at] ?? assert.fail(at);
      for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
        const found = resolve(at, name);
        if (found === undefined || seen.has(found)) continue;
        seen.add(found);
        waiting.push(found);
      }
    }
    seen.delete(path);
    return new Set([...seen].map((at) => `${nameAt(at)}@${packages[at]?.version}`));
  }

  /** The folder of `name` as Node.js finds it from `from`; a link leads to the folder that it names. */
  function resolve(from: string, name: string): string | undefined {
    for (let at = from; ; at = at === '' || !at.includes('/') ? '' : dirname(at)) {
      const found = packages[join(at, 'node_modules', name)];
      if (found?.link) return found.resolved ?? '';
      if (found) return join(at, 'node_modules', name);
      if (at === '') return undefined;
    }
  }

  const nameAt = (at: string): string =>
    PACKAGES.find(({ folder: own }) => own === (at || '.'))?.name ?? at.slice(at.lastIndexOf('node_modules/') + 13);
  const idOf = ({ name, version }: Component): string => `${name}@${version}`;
  const idsIn = (components: readonly Component[]): readonly string[] => [...new Set(components.map(idOf))].sort();
});
