import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

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

/** Puts the tools and their registry, whose next image's digest is in its file `next`, below a folder. @returns the variables of who uses them */
export function registryInFolder(work: string): Readonly<Record<string, string>> {
  for (const folder of ['bin', 'registry']) mkdirSync(join(work, folder));
  for (const tool of ['docker', 'podman', 'buildah', 'skopeo'])
    writeFileSync(join(work, 'bin', tool), TOOL, { mode: 0o755 });
  return {
    ...{ PATH: `${join(work, 'bin')}:${process.env['PATH'] ?? ''}`, TEST_REGISTRY: join(work, 'registry') },
    XDG_STATE_HOME: join(work, 'state'),
  };
}

/** A repository of one commit. @returns the commit */
export function committedTree(folder: string, files: Readonly<Record<string, string>>): string {
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const git = (...words: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-C', folder, ...words], { encoding: 'utf8' });
  git('init', '-q');
  git('add', '.');
  git('commit', '-qm', 'x');
  return git('rev-parse', 'HEAD').trim();
}
