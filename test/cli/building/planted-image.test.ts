import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtImage } from '../../../cli/job/building/build-image.js';
import type { GitLeave } from '../../../cli/job/building/sources.js';
import { removeScratchFolder } from '../../../cli/job/packing/pack-tree.js';
import type { BuildSpec } from '../../../domain/build/spec.js';
import { setEnvironment } from '../command-line.js';
import { committedTree, registryInFolder } from './registry-in-folder.js';

const BUILD: BuildSpec = {
  ...{ image: 'registry.example.org/team/train', context: '.', dockerfile: 'Dockerfile', args: {} },
  ...{ platform: 'linux/amd64', pullImage: 'registry.example.org/team/train', remote: {} },
};
const digestOf = (letter: string): string => `sha256:${letter.repeat(64)}`;
const [PLANTED, OWN, NEWER] = ['e', 'a', 'b'].map(digestOf) as [string, string, string];
const LEAVE: GitLeave = { allowUnpushed: true };

describe('S15: an image that somebody else has pushed under the tag of a commit', function () {
  this.timeout(30_000);
  let work: string;
  const before = { ...process.env };
  const tree = (): string => join(work, 'tree');
  const registry = (name: string): string => join(work, 'registry', name.replaceAll(/[/:@]/g, '_'));
  const plant = (reference: string, digest = PLANTED): void => writeFileSync(registry(reference), digest);
  const builds = (): readonly string[] =>
    existsSync(registry('builds')) ? readFileSync(registry('builds'), 'utf8').trim().split('\n') : [];
  const submit = async (): Promise<string> => (await builtImage(BUILD, tree(), LEAVE)).digest;

  beforeEach(() => {
    work = mkdtempSync(join(tmpdir(), 'planted-image-'));
    const variables = registryInFolder(work);
    writeFileSync(registry('next'), OWN);
    committedTree(tree(), { Dockerfile: 'FROM scratch\n' });
    Object.assign(process.env, variables);
  });
  afterEach(() => {
    setEnvironment(before);
    removeScratchFolder();
    rmSync(work, { recursive: true });
  });

  for (const builder of ['docker', 'podman', 'buildah'])
    it(`is not run: ${builder} builds the commit, once, and its own digest is run from then on`, async () => {
      process.env['JOBCTL_BUILDER'] = builder;
      assert.equal(await submit(), OWN);
      const [reference = '', ...more] = builds();
      assert.deepEqual(more, []);
      // The attacker's turn, before a colleague's first submit, and after one's own.
      plant(reference);
      writeFileSync(registry('next'), NEWER);
      assert.equal(await submit(), OWN, 'what was pushed from here is used by its digest');
      assert.equal(builds().length, 1);
      process.env['XDG_STATE_HOME'] = join(work, 'colleague');
      assert.equal(await submit(), NEWER, 'a colleague builds it');
      assert.equal(builds().length, 2);
      // A registry that lost the digest.
      for (const digest of [OWN, NEWER]) rmSync(registry(`${BUILD.image}@${digest}`), { force: true });
      plant(reference);
      assert.equal(await submit(), NEWER);
      assert.equal(builds().length, 3);
    });
});
