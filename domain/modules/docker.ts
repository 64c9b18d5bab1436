import type { z } from 'zod';
import { given, section, text, texts } from '../job-file/fields.js';
import type { Report } from '../job-file/report.js';
import { warnOfSecret } from '../job-file/secret-looks.js';
import type { Path } from '../problem.js';
import { shellQuote, splitShellWords } from '../shell-quote.js';
import { APT_FUNCTIONS } from './host-scripts.js';
import { fingerprintOf, type RunContainer, setUpModule } from './module.js';

const form = () =>
  section({
    image: text().nullish(),
    env_vars: texts().nullish().describe('NAME=value'),
    mount_dirs: texts().nullish().describe('/dir, or /on/host:/in/container[:ro]'),
    workdir: text().nullish(),
    work_dir: text().nullish(),
    flags: texts().nullish().describe('Flags of docker run; each text is split as a shell would.'),
  });

const FORMAT = 1;

/**
 * The image on every host, and the login user's right to start it. A tag is pulled once per host, and the pulled image's id is
 * kept. The check requires that image, so a tag that moves later changes nothing for a job that has begun with it.
 */
export const docker = setUpModule({
  name: 'docker',
  kind: 'environment',
  form,
  notInPods: {
    message: 'is for VMs: a pod is a container already',
    hint: 'name the image in kubernetes.image',
  },
  example: 'such as docker: {image: python:3.12-slim}',
  resolve: (section, { report }) => resolveDocker(section, report),
  plan: ({ image }, sources) => ({
    name: 'docker',
    fingerprint: fingerprintOf(sources, FORMAT, image),
    check: `${FIND_DOCKER}${idOf(image)}[ -n "$id" ] && [ "$id" = "$(cat ${RECORD})" ]\n`,
    steps: [
      { name: 'daemon', script: DAEMON },
      { name: 'pull', script: pullScript(image) },
    ],
  }),
  environment: { kind: 'container', container: (spec) => spec },
});

function resolveDocker(section: z.infer<ReturnType<typeof form>>, report: Report): RunContainer {
  const image = given(section.image);
  if (image === undefined) report.missing(['docker', 'image'], 'such as image: python:3.12-slim');
  else checkImage(image, report);
  if (section.workdir && section.work_dir)
    report.problem(['docker', 'work_dir'], section.work_dir, 'workdir and work_dir are both given', 'keep workdir');
  const workdir = section.workdir ?? section.work_dir;
  return {
    image: image ?? '',
    flags: (section.flags ?? []).flatMap((text, index) => words(text, ['docker', 'flags', index], report)),
    mounts: (section.mount_dirs ?? []).map((text, index) =>
      checkedMount(text, ['docker', 'mount_dirs', index], report),
    ),
    ...(workdir ? { workdir } : {}),
    env: Object.fromEntries(
      (section.env_vars ?? []).map((text, index) => variable(text, ['docker', 'env_vars', index], report)),
    ),
  };
}

/** An image reference: host, path, tag, digest (github.com/distribution/reference, reference.go). */
const HOST = String.raw`(?:(?:[A-Za-z0-9-]+\.)+[A-Za-z0-9-]+(?::\d+)?|[A-Za-z0-9-]+:\d+|localhost)`;
const COMPONENT = String.raw`[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*`;
const REFERENCE = new RegExp(
  String.raw`^(?:${HOST}/)?${COMPONENT}(?:/${COMPONENT})*(?::\w[\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`,
);

function checkImage(image: string, report: Report): void {
  if (REFERENCE.test(image)) return;
  const hints: readonly (readonly [RegExp, string])[] = [
    [/^(https?|docker):\/\//, 'without the scheme: host/path:tag'],
    [/\s/, 'without blanks'],
    [/@sha256:(?![0-9a-f]{64}$)/, 'a digest is sha256: and 64 hex digits'],
    [/[A-Z]/, 'the path is in small letters; capitals only in the tag'],
  ];
  const hint = hints.find(([mark]) => mark.test(image))?.[1] ?? 'host/path:tag or host/path@sha256:..';
  report.wrong(['docker', 'image'], image, 'no reference to an image', hint);
}

function words(text: string, path: Path, report: Report): readonly string[] {
  const split = splitShellWords(text);
  if (split === undefined)
    report.wrong(path, text, 'not closed: a quote is missing', 'flags are split as a shell would');
  return split ?? [];
}

function checkedMount(text: string, path: Path, report: Report): string {
  const [source = '', target = source, ...options] = text.split(':');
  if (!/^(\/|~(\/|$))/.test(source) || !/^(\/|~(\/|$))/.test(target) || options.length > 1) {
    report.wrong(path, text, 'no mount', '/dir, or /on/host:/in/container, or /on/host:/in/container:ro');
  }
  return text;
}

function variable(text: string, path: Path, report: Report): readonly [string, string] {
  const at = text.indexOf('=');
  const name = at === -1 ? text : text.slice(0, at);
  if (at === -1) report.wrong(path, text, 'no NAME=value', 'what the command is to have from outside goes into env');
  else if (!/^[A-Za-z_]\w*$/.test(name))
    report.wrong(path, text, 'no NAME=value', 'a name has letters, digits and _; no digit first');
  else warnOfSecret(path, name, text.slice(at + 1), report);
  return [name, text.slice(at + 1)];
}

// Plan ---------------------------------------------------------------------------------------------------------------

/** Holds the id of the pulled image. */
const RECORD = '"$HOME/.jobctl/modules/docker.image"';

const idOf = (image: string): string => `id=$(dk image inspect --format '{{.Id}}' ${shellQuote(image)} 2> /dev/null)\n`;

/** A session has the groups of its login, so a user who joined group docker later needs sudo or sg. */
const FIND_DOCKER = `dk() {
  if docker version > /dev/null 2>&1; then docker "$@"
  elif sudo -n true 2> /dev/null; then sudo -n docker "$@"
  else sg docker -c "docker $(printf "'%s' " "$@")"
  fi
}
`;

const DAEMON = `${APT_FUNCTIONS}${FIND_DOCKER}
command -v docker > /dev/null || apt_install docker.io || exit 1
dk version > /dev/null 2>&1 || $as_root systemctl start docker
user=$(id -un)
case " $(id -nG "$user") " in
  *' docker '*) ;;
  *) [ "$(id -u)" = 0 ] || ! getent group docker > /dev/null || $as_root usermod -aG docker "$user" ;;
esac
for wait in 1 2 4 8 16 0; do
  dk version > /dev/null && exit 0
  sleep $wait
done
echo "docker: the daemon does not answer; see: sudo systemctl status docker" >&2
exit 1
`;

/** Registries that take the service account's token (docs.cloud.google.com/artifact-registry/docs/docker/authentication). */
const GOOGLE_REGISTRY = /^([a-z0-9-]+-docker\.pkg\.dev|([a-z]+\.)?gcr\.io)$/;

function pullScript(image: string): string {
  const [host = ''] = image.split('/');
  return `${FIND_DOCKER}
${GOOGLE_REGISTRY.test(host) ? loginScript(host) : ''}dk pull ${shellQuote(image)} || exit 1
${idOf(image)}[ -n "$id" ] || { echo "docker: the image is not there after its pull" >&2; exit 1; }
digest=$(dk image inspect ${shellQuote(image)} | grep -o '[^"[:space:]]*@sha256:[0-9a-f]\\{64\\}' | head -n 1)
echo "docker: image \${digest:-$id}"
printf '%s\\n' "$id" > ${RECORD}
`;
}

/** Runs in the pull's own step, because the token is valid for an hour. Uses stdin: all users of a host can read arguments. */
function loginScript(host: string): string {
  return `token=$(curl -fsS --max-time 10 -H 'Metadata-Flavor: Google' \\
  http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token 2> /dev/null |
  sed -n 's/.*"access_token" *: *"\\([^"]*\\)".*/\\1/p')
[ -n "$token" ] || token=$(gcloud auth print-access-token 2> /dev/null)
if [ -n "$token" ]; then
  printf '%s' "$token" | dk login -u oauth2accesstoken --password-stdin https://${host} 2> /dev/null ||
    echo "docker: ${host} refused the token of the VM's service account; trying without it" >&2
else
  echo "docker: no token of the VM's service account for ${host}; trying without it" >&2
fi
`;
}
