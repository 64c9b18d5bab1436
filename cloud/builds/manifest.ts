import type { V1Container, V1Job, V1PodSpec, V1SecurityContext, V1Volume } from '@kubernetes/client-node';
import { ownerLabel } from '../../domain/identity.js';
import { CONTAINER } from '../../domain/machine-kinds/kubernetes/words.js';
import { isMapping } from '../../domain/job-file/plain-tree.js';
import { DIGEST } from '../../domain/build/build.js';
import type { RemoteBuild } from '../../domain/build/spec.js';
import {
  JOBCTL,
  MACHINES_LABEL,
  MANAGED_BY,
  NAME_LABEL,
  resourcesOf,
  UNREACHABLE,
} from '../machines/kubernetes/pod-template.js';
import { buildHash, type OwnedBuild, type BuildSettings, inputsTag } from './port.js';

/** Value of the label that holds the kind of machines. With it, no listing of slices takes a build for a slice. */
const BUILD = 'build';
/** Holds the hash of the build's inputs, which shows which build a Job belongs to. */
export const BUILD_LABEL = 'jobctl-build';

export const buildName = (hash: string): string => `jobctl-build-${hash}`;

/**
 * Time after the end of a Job at which Kubernetes deletes it. The build's workflow, unless it is gone, deletes the Job much
 * earlier.
 */
const LEFT_SECONDS = 24 * 3600;
/** Grace of a build that is stopped: it has nothing to save. */
const GRACE_SECONDS = 1;
/** The user of the images `moby/buildkit:*-rootless`. */
const ROOTLESS_USER = 1000;

const GIT_FOLDER = '/jobctl/git';
const PUSH_FOLDER = '/jobctl/push';

/**
 * The first process of the pod. The metadata file is first written elsewhere: BuildKit replaces the file that it is given, and
 * the termination log is a mount, which cannot be replaced.
 */
const SCRIPT = `set -u
if [ -n "\${JOBCTL_BUILDKITD:-}" ]; then
  printf '%s' "$JOBCTL_BUILDKITD" > /tmp/jobctl-buildkitd.toml
  export BUILDKITD_FLAGS="\${BUILDKITD_FLAGS:-} --config /tmp/jobctl-buildkitd.toml"
fi
[ ! -f ${GIT_FOLDER}/ssh-privatekey ] || set -- "$@" --ssh default=${GIT_FOLDER}/ssh-privatekey
for key in token password; do
  [ ! -f ${GIT_FOLDER}/$key ] || { set -- "$@" --secret id=GIT_AUTH_TOKEN,src=${GIT_FOLDER}/$key; break; }
done
buildctl-daemonless.sh "$@" --metadata-file /tmp/jobctl-metadata.json || exit
cat /tmp/jobctl-metadata.json > /dev/termination-log
`;

/** The Job of a build. @throws RangeError if a label cannot hold the owner */
export function buildJob({ owner, build }: OwnedBuild, settings: BuildSettings): V1Job {
  const hash = buildHash({ owner, build });
  const labels = {
    [MANAGED_BY]: JOBCTL,
    ...ownerLabel(owner),
    [MACHINES_LABEL]: BUILD,
    [BUILD_LABEL]: hash,
    [NAME_LABEL]: buildName(hash),
  };
  const { repository, commit, image } = build;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: buildName(hash),
      namespace: build.namespace,
      labels,
      annotations: { 'jobctl/repository': repository, 'jobctl/commit': commit, 'jobctl/image': image },
    },
    spec: {
      completionMode: 'Indexed',
      completions: 1,
      parallelism: 1,
      // The build's workflow makes another Job for another try.
      backoffLimit: 0,
      activeDeadlineSeconds: settings.deadlineSeconds,
      ttlSecondsAfterFinished: LEFT_SECONDS,
      podFailurePolicy: {
        rules: [{ action: 'FailJob', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }],
      },
      template: { metadata: { labels }, spec: podSpec(build, settings) },
    },
  };
}

function podSpec(build: OwnedBuild['build'], settings: BuildSettings): V1PodSpec {
  const { serviceAccount, privileged } = settings;
  const volumes = [
    // A Secret of the type kubernetes.io/dockerconfigjson, where BuildKit looks for logins.
    ...secretVolume('push', build.pushSecret, [{ key: '.dockerconfigjson', path: 'config.json' }]),
    ...secretVolume('git', build.gitSecret),
  ];
  return {
    restartPolicy: 'Never',
    enableServiceLinks: false,
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: GRACE_SECONDS,
    ...(serviceAccount !== undefined && { serviceAccountName: serviceAccount }),
    tolerations: [...UNREACHABLE],
    ...(!privileged && { securityContext: { fsGroup: ROOTLESS_USER } }),
    volumes: [{ name: 'state', emptyDir: {} }, ...volumes],
    containers: [
      {
        name: CONTAINER,
        image: settings.image,
        command: ['/bin/sh', '-c', SCRIPT, BUILD],
        args: [...buildWords(build)],
        env: environmentOf(build, settings),
        resources: resourcesOf(settings),
        securityContext: securityOf(settings),
        // If a build fails, the pod's status has the last lines, so no log has to be read for them.
        terminationMessagePolicy: 'FallbackToLogsOnError',
        volumeMounts: [
          { name: 'state', mountPath: privileged ? '/var/lib/buildkit' : '/home/user/.local/share/buildkit' },
          ...volumes.map(({ name }) => ({
            name,
            mountPath: name === 'git' ? GIT_FOLDER : PUSH_FOLDER,
            readOnly: true,
          })),
        ],
      },
    ],
  };
}

function secretVolume(
  name: string,
  secretName: string | undefined,
  items?: NonNullable<V1Volume['secret']>['items'],
): readonly V1Volume[] {
  if (secretName === undefined) return [];
  return [{ name, secret: { secretName, defaultMode: 0o440, ...(items !== undefined && { items }) } }];
}

function environmentOf(
  { pushSecret }: OwnedBuild['build'],
  { privileged, insecureRegistries }: BuildSettings,
): NonNullable<V1Container['env']> {
  const registries = insecureRegistries.map((host) => `[registry."${host}"]\nhttp = true\n`).join('');
  return [
    // Its default of 10 tries ends after two seconds, too early for a daemon on a busy node. 60 tries take most of a minute.
    { name: 'BUILDCTL_CONNECT_RETRIES_MAX', value: '60' },
    // In a pod, a rootless BuildKit may not mount another /proc.
    ...(privileged ? [] : [{ name: 'BUILDKITD_FLAGS', value: '--oci-worker-no-process-sandbox' }]),
    ...(registries === '' ? [] : [{ name: 'JOBCTL_BUILDKITD', value: registries }]),
    ...(pushSecret === undefined ? [] : [{ name: 'DOCKER_CONFIG', value: PUSH_FOLDER }]),
  ];
}

/** The same as in BuildKit's own example of a rootless Job (examples/kubernetes/job.rootless.yaml of moby/buildkit). */
const securityOf = ({ privileged }: BuildSettings): V1SecurityContext =>
  privileged
    ? { privileged: true }
    : {
        runAsUser: ROOTLESS_USER,
        runAsGroup: ROOTLESS_USER,
        seccompProfile: { type: 'Unconfined' },
        appArmorProfile: { type: 'Unconfined' },
      };

/** Label that names the commit, as on images that `submit` builds (github.com/opencontainers/image-spec, annotations.md). */
const REVISION = 'org.opencontainers.image.revision';

/** Arguments for `buildctl` (https://github.com/moby/buildkit/blob/master/docs/reference/buildctl.md). */
function buildWords(build: RemoteBuild): readonly string[] {
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

/** Matches output that BuildKit prints only once it has begun to build. A daemon that never came up prints none of it. */
const GAVE_UP = /failed to solve|^#\d+ /m;

/** Returns whether BuildKit had begun to build, so that the failure is the build's. @param tail the last output of its process */
export const isOfBuild = (tail: string): boolean => GAVE_UP.test(tail);
