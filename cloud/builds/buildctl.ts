import { isMapping } from '../../domain/job-file/plain-tree.js';
import { DIGEST } from '../../domain/build/build.js';
import type { RemoteBuild } from '../../domain/build/remote.js';
import { inputsTag } from './inputs.js';

/** The same label as on images that submit builds (github.com/opencontainers/image-spec, annotations.md). */
const REVISION = 'org.opencontainers.image.revision';

/** Arguments for `buildctl` (https://github.com/moby/buildkit/blob/master/docs/reference/buildctl.md). */
export function buildWords(build: RemoteBuild): readonly string[] {
  const { commit, dockerfile, target, args, platform, image } = build;
  const options = {
    context: gitContext(build),
    filename: dockerfile,
    platform,
    ...(target === undefined ? {} : { target }),
    ...Object.fromEntries(Object.entries(args).map(([name, value]) => [`build-arg:${name}`, value])),
    [`label:${REVISION}`]: commit,
  };
  return [
    ...['build', '--progress', 'plain', '--frontend', 'dockerfile.v0'],
    ...Object.entries(options).flatMap(([name, value]) => ['--opt', `${name}=${value}`]),
    ...['--output', `type=image,name=${image}:${inputsTag(build)},push=true`],
  ];
}

/** `URL#COMMIT:FOLDER`. BuildKit takes an http(s) URL for a repository only if it ends with .git. */
function gitContext({ repository, commit, context }: RemoteBuild): string {
  const isPlain = /^https?:/.test(repository) && !repository.endsWith('.git');
  const url = isPlain ? `${repository.replace(/(?<!\/)\/+$/, '')}.git` : repository;
  return `${url}#${commit}${context === '' ? '' : `:${context}`}`;
}

/** Returns the digest in the metadata file's text, or undefined if the text is not such a file. */
export function digestIn(metadata: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(metadata);
    const digest = isMapping(parsed) ? parsed['containerimage.digest'] : undefined;
    return typeof digest === 'string' && DIGEST.test(digest) ? digest : undefined;
  } catch {
    return undefined;
  }
}

/** BuildKit's output once it has begun to build, in contrast to a daemon that never came up. */
const GAVE_UP = /failed to solve|^#\d+ /m;

/** Returns whether BuildKit had begun to build, so that the failure is the build's. @param tail the last output of its process */
export const isOfBuild = (tail: string): boolean => GAVE_UP.test(tail);
