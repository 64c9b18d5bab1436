import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtDigest } from '../../../client/cli/building/build-image.js';
import type { GitLeave } from '../../../client/cli/building/git-rules.js';
import { removeScratchFolder } from '../../../client/cli/packing/scratch-folder.js';
import type { BuildSpec } from '../../../domain/build/spec.js';
import { setEnvironment } from '../command-line.js';

const BUILD: BuildSpec = {
  ...{ image: 'registry.example.org/team/train', context: '.', dockerfile: 'Dockerfile', args: {} },
  ...{ platform: 'linux/amd64', pullImage: 'registry.example.org/team/train', remote: {} },
};
const digestOf = (letter: string): string => `sha256:${letter.repeat(64)}`;
const [PLANTED, OWN, NEWER] = ['e', 'a', 'b'].map(digestOf) as [string, string, string];
const LEAVE: GitLeave = { allowUnpushed: true };

/**
 * What docker, podman and buildah say and do with a registry that is a folder: a file for each reference, with a digest. The tools
 * themselves are test/long/build.test.ts.
 */
const TOOL = `#!/bin/sh
registry="$TEST_REGISTRY"
at() { echo "$registry/$(echo "$1" | tr '/:@' '___')"; }
tool=\${0##*/}
last() { for word; do :; done; echo "$word"; }
arg() { name=$1; shift; while [ $# -gt 0 ]; do [ "$1" = "$name" ] && { echo "$2"; return; }; shift; done; }
made() { cat "$registry/next"; }
keep() { repository=\${1%:*}; made >"$(at "$1")"; made >"$(at "$repository@$(made)")"; echo "$1" >>"$registry/builds"; }
case "$tool $*" in
"docker buildx version" | "docker version "* | "podman info" | "buildah info") ;;
"docker buildx imagetools"*)
  found=$(cat "$(at "$(last "$@")")" 2>/dev/null) || exit 1
  printf '{"manifest":{"digest":"%s"},"image":{"os":"linux","architecture":"amd64"}}' "$found" ;;
"docker buildx build "*)
  keep "$(arg --tag "$@")"; printf '{"containerimage.digest":"%s"}' "$(made)" >"$(arg --metadata-file "$@")" ;;
"skopeo inspect "*)
  found=$(cat "$(at "$(last "$@" | sed 's,^docker://,,')")" 2>/dev/null) || exit 1
  printf '{"Digest":"%s","Os":"linux","Architecture":"amd64"}' "$found" ;;
*" push "*) keep "$(last "$@" | sed 's,^docker://,,')"; made >"$(arg --digestfile "$@")" ;;
*" build "*) ;;
*inspect*) echo linux/amd64 ;;
*) exit 9 ;;
esac
`;

describe('S15: an image that somebody else has pushed under the tag of a commit', function () {
  this.timeout(30_000);
  let work: string;
  const before = { ...process.env };
  const tree = (): string => join(work, 'tree');
  const registry = (name: string): string => join(work, 'registry', name.replaceAll(/[/:@]/g, '_'));
  const plant = (reference: string, digest = PLANTED): void => writeFileSync(registry(reference), digest);
  const builds = (): readonly string[] =>
    existsSync(registry('builds')) ? readFileSync(registry('builds'), 'utf8').trim().split('\n') : [];
  const submit = (): Promise<string> => builtDigest(BUILD, tree(), LEAVE);

  beforeEach(() => {
    work = mkdtempSync(join(tmpdir(), 'planted-image-'));
    for (const folder of ['bin', 'registry', 'tree']) mkdirSync(join(work, folder));
    for (const tool of ['docker', 'podman', 'buildah', 'skopeo'])
      writeFileSync(join(work, 'bin', tool), TOOL, { mode: 0o755 });
    writeFileSync(registry('next'), OWN);
    writeFileSync(join(tree(), 'Dockerfile'), 'FROM scratch\n');
    const git = (...words: readonly string[]): unknown =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-C', tree(), ...words], { stdio: 'pipe' });
    git('init', '-q');
    git('add', '.');
    git('commit', '-qm', 'x');
    Object.assign(process.env, {
      ...{ PATH: `${join(work, 'bin')}:${before['PATH'] ?? ''}`, TEST_REGISTRY: join(work, 'registry') },
      XDG_STATE_HOME: join(work, 'state'),
    });
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
