import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DIGEST } from '../../../domain/build/build.js';
import type { BuildSpec } from '../../../domain/build/spec.js';
import { isMapping, valueAt } from '../../../domain/job-file/plain-tree.js';
import { scratchPath } from '../packing/pack-tree.js';
import { spawn } from 'node:child_process';
import { CliError, ExitCode } from '../../terminal/cli-error.js';

/** An image in a registry. */
interface PushedImage {
  /** `sha256:..` */
  readonly digest: string;
  /** `linux/amd64` */
  readonly platform: string;
}

interface BuildOrder {
  readonly build: BuildSpec;
  readonly context: string;
  readonly dockerfile: string;
  /** `repository:tag` */
  readonly reference: string;
  /** Labels that name the commit, for people who find the image. */
  readonly labels: Readonly<Record<string, string>>;
}

/** The failed step, and the last lines of the program. */
export interface BuildFailure {
  readonly step: 'build' | 'push';
  readonly command: string;
  readonly end: ToolEnd;
}

/** A program of this computer that builds and pushes images and logs in to registries itself. */
export interface Builder {
  readonly name: BuilderName;
  /** Returns the reason why the program cannot be used here, or undefined if it can. */
  unfit(): Promise<string | undefined>;
  /** The image that a registry has under a tag. Undefined: no image, or it cannot be determined here. */
  pushed(reference: string): Promise<PushedImage | undefined>;
  build(order: BuildOrder): Promise<PushedImage | BuildFailure>;
}

export const BUILDER_NAMES = ['docker', 'podman', 'buildah'] as const;
export type BuilderName = (typeof BUILDER_NAMES)[number];

/** Arguments of `docker buildx build`, `podman build` and `buildah build`. */
function buildWords({ build, context, dockerfile, reference, labels }: BuildOrder): readonly string[] {
  const each = (flag: string, map: Readonly<Record<string, string>>): readonly string[] =>
    Object.entries(map).flatMap(([name, value]) => [flag, `${name}=${value}`]);
  return [
    ...['--platform', build.platform, '--file', dockerfile, '--tag', reference],
    ...(build.target === undefined ? [] : ['--target', build.target]),
    ...each('--build-arg', build.args),
    ...each('--label', labels),
    context,
  ];
}

const docker: Builder = {
  name: 'docker',
  unfit: async () => {
    const buildx = await runTool(['docker', 'buildx', 'version']);
    if (buildx.code !== 0) return buildx.code === undefined ? 'not installed' : 'has no buildx';
    const daemon = await runTool(['docker', 'version', '--format', '{{.Server.Version}}']);
    return daemon.code === 0 ? undefined : (daemon.tail.at(-1) ?? 'its daemon does not answer');
  },
  pushed: async (reference) => {
    const { code, stdout } = await runTool([
      ...['docker', 'buildx', 'imagetools', 'inspect', '--format', '{{json .}}'],
      reference,
    ]);
    if (code !== 0) return undefined;
    const answer = parsed(stdout);
    const image = valueAt(answer, ['image']);
    return imageOf(valueAt(answer, ['manifest', 'digest']), image, 'os', 'architecture');
  },
  build: async (order) => {
    const metadata = scratchPath('.json');
    const words = ['docker', 'buildx', 'build', '--push', '--metadata-file', metadata, '--progress=plain'];
    const end = await runTool([...words, ...buildWords(order)], { isShown: true });
    // Build and push are one call; the output lines tell which of them failed.
    const step = end.tail.some((line) => /failed to push|pushing /.test(line)) ? 'push' : 'build';
    const failure = { step, command: 'docker buildx build --push', end } as const;
    if (end.code !== 0) return failure;
    const digest = valueAt(parsed(readFileSync(metadata, 'utf8')), ['containerimage.digest']);
    if (typeof digest !== 'string') return failure;
    return (await docker.pushed(`${order.build.image}@${digest}`)) ?? failure;
  },
};

/** Podman and buildah share one code base under two names. They keep images in a separate storage until they are pushed. */
function ofContainers(name: 'podman' | 'buildah', platformWords: readonly string[]): Builder {
  return {
    name,
    unfit: async () => {
      const { code, tail } = await runTool([name, 'info']);
      return code === 0 ? undefined : (tail.at(-1) ?? `${name} info failed`);
    },
    pushed: async (reference) => {
      const { code, stdout } = await runTool(['skopeo', 'inspect', `docker://${reference}`]);
      const answer = code === 0 ? parsed(stdout) : undefined;
      return answer === undefined ? undefined : imageOf(valueAt(answer, ['Digest']), answer, 'Os', 'Architecture');
    },
    build: async (order) => {
      const { reference } = order;
      const built = await runTool([name, 'build', ...buildWords(order)], { isShown: true });
      if (built.code !== 0) return { step: 'build', command: `${name} build`, end: built };
      const folder = scratchPath('');
      mkdirSync(folder);
      const place = join(folder, 'digest');
      const words = [name, 'push', '--digestfile', place, reference, `docker://${reference}`];
      const end = await runTool(words, { isShown: true });
      const failure = { step: 'push', command: `${name} push`, end } as const;
      if (end.code !== 0) return failure;
      const { stdout } = await runTool([name, ...platformWords, reference]);
      const digest = readFileSync(place, 'utf8').trim();
      return DIGEST.test(digest) ? { digest, platform: stdout.trim() } : failure;
    },
  };
}

const BUILDERS: Readonly<Record<BuilderName, Builder>> = {
  docker,
  podman: ofContainers('podman', ['image', 'inspect', '--format', '{{.Os}}/{{.Architecture}}']),
  buildah: ofContainers('buildah', [
    ...['inspect', '--type', 'image', '--format', '{{.OCIv1.OS}}/{{.OCIv1.Architecture}}'],
  ]),
};

export const builderNamed = (name: BuilderName): Builder => BUILDERS[name];

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function imageOf(digest: unknown, config: unknown, os: string, architecture: string): PushedImage | undefined {
  if (typeof digest !== 'string' || !isMapping(config)) return undefined;
  return { digest, platform: `${String(config[os])}/${String(config[architecture])}` };
}

interface ToolEnd {
  /** Exit code. Undefined: the program could not be started, or a signal ended it. */
  readonly code: number | undefined;
  readonly stdout: string;
  /** The last lines of both streams, for an error. */
  readonly tail: readonly string[];
}

interface RunOptions {
  /** True shows its output as it comes, because a person waits for it. */
  readonly isShown?: true;
}

const TAIL_LINES = 15;

/**
 * Runs a program to its end. A signal to jobctl is passed on to the program and its child processes.
 * @throws CliError if a signal ended it
 */
async function runTool(words: readonly string[], { isShown }: RunOptions = {}): Promise<ToolEnd> {
  const [program = '', ...args] = words;
  // A separate process group, so that child processes of the program end with it.
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: toolEnv(), detached: true });
  let [stdout, said, isInterrupted] = ['', '', false];
  const note = (chunk: Buffer): void => {
    said = (said + chunk.toString()).slice(-20_000);
    if (isShown === true) process.stderr.write(chunk);
  };
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    note(chunk);
  });
  child.stderr.on('data', note);
  const stop = (): void => {
    isInterrupted = true;
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
  };
  for (const name of SIGNALS) process.on(name, stop);
  try {
    const code = await new Promise<number | undefined>((done) => {
      child.once('error', (error: NodeJS.ErrnoException) => {
        said += error.code === 'ENOENT' ? 'not installed' : error.message;
        done(undefined);
      });
      child.once('close', (ended) => done(ended ?? undefined));
    });
    if (isInterrupted) throw new CliError(ExitCode.Interrupted, `${program} was interrupted: nothing was submitted`);
    return { code, stdout, tail: said.split(/\r?\n/).filter(Boolean).slice(-TAIL_LINES) };
  } finally {
    for (const name of SIGNALS) process.off(name, stop);
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Disables provenance, which would turn the image into an index with another digest. */
const toolEnv = (): NodeJS.ProcessEnv => ({ ...process.env, BUILDX_NO_DEFAULT_ATTESTATIONS: '1' });
