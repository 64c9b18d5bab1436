import { createHash } from 'node:crypto';
import type { RemoteBuild } from '../../domain/build/remote.js';
import { canonicalJson } from '../../domain/content-hash.js';
import type { OwnedBuild } from './port.js';

const sha256 = (json: unknown): string => createHash('sha256').update(canonicalJson(json)).digest('hex');

/** All inputs that decide the content of an image, wherever it is built. `context` is a folder of the repository, '' its top. */
export type ImageInputs = Pick<RemoteBuild, 'commit' | 'context' | 'dockerfile' | 'target' | 'args' | 'platform'>;

/** A readable tag that differs for any inputs that make another image. */
export function inputsTag({ commit, context, dockerfile, target, args, platform }: ImageInputs): string {
  const folder = context === '' || context.endsWith('/') ? context : `${context}/`;
  const inputs = { commit, context: folder, dockerfile, target, args, platform };
  return `${commit.slice(0, 12)}-${sha256(inputs).slice(0, 12)}`;
}

/**
 * Returns 40 hex digits that identify one installation's build; its workflow's id and its objects' names contain them. The hash
 * must resist collisions: a job that joins a build runs the image that the build's first job asked for.
 */
export const buildHash = ({ owner, build }: OwnedBuild): string => sha256({ owner, build }).slice(0, 40);
