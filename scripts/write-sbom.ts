import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PACKAGES, type PackageLayout } from './packages.js';
import { withPublishedTree } from './published-tree.js';

/**
 * Writes one software bill of materials (CycloneDX, JSON) for each package that a release publishes. It lists every dependency of
 * the package's production tree in package-lock.json, with version and sha512. `npm sbom` makes it (published-tree.ts says in
 * which folder). The libraries that are bundled into the page are dependencies of development, which npm leaves out, and part of
 * jobctl: they are added from the notices that the build wrote beside them.
 *
 *   npx tsx scripts/write-sbom.ts FOLDER      FOLDER/jobctl-0.1.0.cdx.json, ..
 */
interface Bom {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** The package that the page is in. */
const WITH_PAGE = 'jobctl';

/** @returns paths of the written files */
export async function writeSboms(folder: string): Promise<readonly string[]> {
  mkdirSync(folder, { recursive: true });
  return withPublishedTree((copy) => Promise.all(PACKAGES.map((layout) => writeSbom(copy, layout, folder))));
}

async function writeSbom(copy: string, { name }: PackageLayout, folder: string): Promise<string> {
  const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only', `--workspace=${name}`];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: copy, maxBuffer: 1 << 26 });
  const own = about(name, JSON.parse(stdout) as Bom);
  const bom = name === WITH_PAGE ? withPage(own, pageLibraries()) : own;
  const { version } = bom.metadata.component;
  const file = join(folder, `${name.replace(/^@/u, '').replace('/', '-')}-${version}.cdx.json`);
  writeFileSync(file, `${JSON.stringify(bom, null, 2)}\n`);
  return file;
}

/** Turns npm's bill, which is about the whole project with the package as its part, into one about the package. */
function about(name: string, bom: Bom): Bom {
  const component = bom.components.find((each) => each.name === name);
  if (component === undefined) throw new Error(`npm sbom: no component ${name} in the bill of its own workspace`);
  const whole = bom.metadata.component['bom-ref'];
  return {
    ...bom,
    metadata: { ...bom.metadata, component },
    components: bom.components.filter((each) => each !== component),
    dependencies: bom.dependencies.filter(({ ref }) => ref !== whole),
  };
}

/** Libraries that are bundled into the page. @throws Error if the page was not built */
function pageLibraries(): readonly Component[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  const notices = join(ROOT, 'dist/ui/THIRD-PARTY-NOTICES.txt');
  if (!existsSync(notices))
    throw new Error(`${notices}: is missing, so what the page is made of is not known: npm run build`);
  const blocks = readFileSync(notices, 'utf8').split(/^-{80}\n\n/m);
  return blocks.map((block) => {
    const [, name = '', version = '', license = ''] = /^(\S+) (\S+), (.+)\n/.exec(block) ?? [];
    const { version: locked, integrity = '' } = packages[`node_modules/${name}`] ?? {};
    if (locked !== version)
      throw new Error(`${notices}: ${name} ${version} is ${locked ?? 'missing'} in package-lock.json`);
    const content = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
    return {
      ...{ 'bom-ref': `${name}@${version}`, type: 'library', name, version, scope: 'required' },
      purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
      hashes: [{ alg: 'SHA-512', content }],
      licenses: [{ license: { id: license } }],
    };
  });
}

/** Adds libraries that are part of the package. One that is installed with it too is there already. */
function withPage(bom: Bom, libraries: readonly Component[]): Bom {
  const known = new Set(bom.components.map((each) => each['bom-ref']));
  const added = libraries.filter((each) => !known.has(each['bom-ref']));
  const refs = added.map((each) => each['bom-ref']);
  const own = bom.metadata.component['bom-ref'];
  return {
    ...bom,
    components: [...bom.components, ...added],
    dependencies: [
      ...bom.dependencies.map((each) =>
        each.ref === own ? { ...each, dependsOn: [...each.dependsOn, ...refs] } : each,
      ),
      ...refs.map((ref) => ({ ref, dependsOn: [] })),
    ],
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error('write-sbom.ts FOLDER: the folder for the bills of materials');
  for (const file of await writeSboms(folder)) console.log(file);
}
