import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PACKAGES, type PackageLayout } from './packages.js';
import { withPublishedTree } from './published-tree.js';

/**
 * Writes one software bill of materials (CycloneDX, JSON) for each package that a release publishes. It lists every dependency of
 * the package's production tree in package-lock.json, with version and sha512. `npm sbom` makes it (published-tree.ts says in
 * which folder).
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

/** @returns paths of the written files */
export async function writeSboms(folder: string): Promise<readonly string[]> {
  mkdirSync(folder, { recursive: true });
  return withPublishedTree((copy) => Promise.all(PACKAGES.map((layout) => writeSbom(copy, layout, folder))));
}

async function writeSbom(copy: string, { name }: PackageLayout, folder: string): Promise<string> {
  const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only', `--workspace=${name}`];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: copy, maxBuffer: 1 << 26 });
  const bom = about(name, JSON.parse(stdout) as Bom);
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error('write-sbom.ts FOLDER: the folder for the bills of materials');
  for (const file of await writeSboms(folder)) console.log(file);
}
