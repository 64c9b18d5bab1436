import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DIGEST } from '../../../domain/build/build.js';
import type { BuildSpec } from '../../../domain/build/spec.js';
import { fileErrorWords } from '../../../domain/error-words.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { xdgFolder } from '../../terminal/home.js';
import { tellLine } from '../../terminal/print.js';
import { type Builder, BUILDER_NAMES, type BuilderName, builderNamed, type BuildFailure } from './builders.js';
import { type BuildCommit, buildCommit, type GitLeave } from './git-rules.js';
import { buildSources } from './sources.js';

/** An image that was built on this computer. */
export interface BuiltImage {
  readonly digest: string;
  /** The commit that it was built from, as in `BuildCommit`. Absent: the folder differs from its commit, or has none. */
  readonly commit?: string;
}

/**
 * Builds and pushes a job's image on this computer, unless this computer built one from the same commit and settings before and
 * its registry still has it. A tag alone does not count: anybody can predict it, and anybody with push rights may have pushed it
 * (docs/adr/0107).
 * @param context place of the build context
 * @throws CliError if the tree or its commit may not be built, no program can build, or the build or its push failed
 */
export async function builtImage(build: BuildSpec, context: string, leave: GitLeave): Promise<BuiltImage> {
  const at = await buildCommit(context, leave);
  const made = at.commit === undefined || at.isDirty ? {} : { commit: at.commit };
  return { digest: await digestOf(build, context, at), ...made };
}

async function digestOf(build: BuildSpec, context: string, at: BuildCommit): Promise<string> {
  const builder = await chosenBuilder();
  const sources = await buildSources(build, context, at);
  const reference = `${build.image}:${sources.tag}`;
  const own = sources.isReusable ? ownDigest(reference) : undefined;
  const known = own === undefined ? undefined : await builder.pushed(`${build.image}@${own}`);
  if (known !== undefined && known.digest === own) {
    tellLine(`build: ${reference} is there already: ${known.digest}`);
    refuseOtherPlatform(build, known.platform);
    return known.digest;
  }
  tellLine(`build: ${reference}, by ${builder.name}`);
  const labels = at.commit === undefined ? {} : { [REVISION]: `${at.commit}${at.isDirty ? '-dirty' : ''}` };
  const made = await builder.build({ build, ...sources, reference, labels });
  if ('end' in made) throw failureOf(made, build);
  refuseOtherPlatform(build, made.platform);
  if (sources.isReusable) keepOwnDigest(reference, made.digest);
  tellLine(`build: pushed ${build.image}@${made.digest}`);
  return made.digest;
}

/** Record of the image pushed from here under this reference: a file in the XDG state folder, which only its user can enter. */
const recordOf = (reference: string): string => {
  const name = createHash('sha256').update(reference).digest('hex');
  return join(xdgFolder(process.env, 'XDG_STATE_HOME', '.local/state'), 'jobctl-images', name);
};

function ownDigest(reference: string): string | undefined {
  try {
    const digest = readFileSync(recordOf(reference), 'utf8').trim();
    return DIGEST.test(digest) ? digest : undefined;
  } catch {
    return undefined;
  }
}

/** Stores the digest of a pushed image. If it cannot be stored, the next submit builds again. */
function keepOwnDigest(reference: string, digest: string): void {
  const file = recordOf(reference);
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.${process.pid}`, `${digest}\n`, { mode: 0o600 });
    renameSync(`${file}.${process.pid}`, file);
  } catch (error) {
    tellLine(`build: ${file} cannot be kept, so the next submit builds again: ${fileErrorWords(error)}`);
  }
}

/** github.com/opencontainers/image-spec, annotations.md. */
const REVISION = 'org.opencontainers.image.revision';

/** The program of `JOBCTL_BUILDER`, or else the first usable one. */
async function chosenBuilder(): Promise<Builder> {
  const wanted = process.env['JOBCTL_BUILDER'] ?? '';
  const names = wanted === '' ? BUILDER_NAMES : BUILDER_NAMES.filter((name) => name === wanted);
  if (names.length === 0)
    throw new CliError(
      ExitCode.Usage,
      `JOBCTL_BUILDER: '${wanted}' is no program that jobctl builds with`,
      `one of ${BUILDER_NAMES.join(', ')}; without it the first that can be used`,
    );
  const reasons: [BuilderName, string][] = [];
  for (const name of names) {
    const builder = builderNamed(name);
    const why = await builder.unfit();
    if (why === undefined) return builder;
    reasons.push([name, why]);
  }
  throw new CliError(
    ExitCode.Usage,
    'build: no program on this computer can build the image',
    ...reasons.map(([name, why]) => `${name}: ${why}`),
    'install docker with buildx, podman or buildah, or name a pushed image in place of build',
  );
}

function failureOf({ step, command, end }: BuildFailure, { image }: BuildSpec): CliError {
  const what = step === 'push' ? `the image was not pushed to ${image}` : 'the image was not built';
  const how = end.code === 0 ? 'ended, and told no digest' : `ended with ${end.code ?? 'a signal'}`;
  return new CliError(ExitCode.Failed, `build: ${what}: \`${command}\` ${how}`, ...end.tail);
}

/** Compares OS and architecture only: no builder reports a variant such as `v8` of `linux/arm64/v8`. */
function refuseOtherPlatform({ platform, image }: BuildSpec, made: string): void {
  if (platform.split('/').slice(0, 2).join('/') === made) return;
  throw new CliError(
    ExitCode.Failed,
    `build: the image in ${image} is for ${made}, and build.platform is ${platform}`,
    'its base image may have no other; take one that has, or name the platform in build.platform',
  );
}
