import { createHash } from 'node:crypto';
import type { RemoteBuild } from '../../domain/build/remote.js';
import { canonicalJson } from '../../domain/content-hash.js';
import type { OwnedBuild } from './port.js';

const sha256 = (json: unknown): string => createHash('sha256').update(canonicalJson(json)).digest('hex');

/** What decides the content of an image, wherever it is built. `context`: a folder of the repository, '' its top. */
export type ImageInputs = Pick<RemoteBuild, 'commit' | 'context' | 'dockerfile' | 'target' | 'args' | 'platform'>;

/** Readable, and different for all that makes another image. */
export function inputsTag({ commit, context, dockerfile, target, args, platform }: ImageInputs): string {
  const folder = context === '' || context.endsWith('/') ? context : `${context}/`;
  const inputs = { commit, context: folder, dockerfile, target, args, platform };
  return `${commit.slice(0, 12)}-${sha256(inputs).slice(0, 12)}`;
}

/**
 * 40 hex digits of one installation's build, which its workflow's id and its objects' names are made of. A hash that nobody can meet
 * on purpose: who joins a build runs the image that its first job has asked for.
 */
export const buildHash = ({ owner, build }: OwnedBuild): string => sha256({ owner, build }).slice(0, 40);
