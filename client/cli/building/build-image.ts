import type { BuildSpec } from '../../../domain/build/spec.js';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import { tellLine } from '../render/told-line.js';
import { type Builder, BUILDER_NAMES, type BuilderName, builderNamed, type BuildFailure } from './builders.js';
import { buildCommit, type GitLeave } from './git-rules.js';
import { buildSources } from './sources.js';

/**
 * The digest of a job's image, built and pushed on this computer, unless its registry has an image of the same commit and words.
 * @param context its place
 * @throws CliError if the tree or its commit may not be built, no program can build, or the build or its push failed
 */
export async function builtDigest(build: BuildSpec, context: string, leave: GitLeave): Promise<string> {
  const at = await buildCommit(context, leave);
  const builder = await chosenBuilder();
  const sources = await buildSources(build, context, at);
  const reference = `${build.image}:${sources.tag}`;
  const known = sources.isReusable ? await builder.pushed(reference) : undefined;
  if (known !== undefined) {
    tellLine(`build: ${reference} is there already: ${known.digest}`);
    refuseOtherPlatform(build, known.platform);
    return known.digest;
  }
  tellLine(`build: ${reference}, by ${builder.name}`);
  const labels = at.commit === undefined ? {} : { [REVISION]: `${at.commit}${at.isDirty ? '-dirty' : ''}` };
  const made = await builder.build({ build, ...sources, reference, labels });
  if ('end' in made) throw failureOf(made, build);
  refuseOtherPlatform(build, made.platform);
  tellLine(`build: pushed ${build.image}@${made.digest}`);
  return made.digest;
}

/** github.com/opencontainers/image-spec, annotations.md. */
const REVISION = 'org.opencontainers.image.revision';

/** The program of `JOBCTL_BUILDER`, else the first that can be used. */
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
  const what =
    step === 'push' ? `the image was not pushed to ${image}` : 'the image was not built, and nothing was submitted';
  const how = end.code === 0 ? 'ended, and told no digest' : `ended with ${end.code ?? 'a signal'}`;
  return new CliError(ExitCode.Failed, `build: ${what}: \`${command}\` ${how}`, ...end.tail);
}

/** A variant, `linux/arm64/v8`, is told by no builder. */
function refuseOtherPlatform({ platform, image }: BuildSpec, made: string): void {
  if (platform.split('/').slice(0, 2).join('/') === made) return;
  throw new CliError(
    ExitCode.Failed,
    `build: the image in ${image} is for ${made}, and build.platform is ${platform}`,
    'its base image may have no other; take one that has, or name the platform in build.platform',
  );
}
