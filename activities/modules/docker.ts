import type { ModulePlan } from '../../cloud/hosts/port.js';
import type { DockerSpec } from '../../domain/setup-spec.js';
import { shellQuote } from '../../domain/shell-quote.js';
import { APT_FUNCTIONS } from './apt-install.js';
import { fingerprintOf } from './fingerprint.js';

const FORMAT = 1;

/**
 * The image on every host, and the right to start it. By digest where the job names one; a tag is pulled once per host, and what
 * it then was is printed and kept: the check wants that very image, so a tag that has moved meanwhile changes nothing for a job
 * that has begun with it.
 */
export function dockerModule({ image }: Pick<DockerSpec, 'image'>): ModulePlan {
  return {
    name: 'docker',
    fingerprint: fingerprintOf(FORMAT, image),
    check: `${FIND_DOCKER}${idOf(image)}[ -n "$id" ] && [ "$id" = "$(cat ${RECORD})" ]\n`,
    steps: [
      { name: 'daemon', script: DAEMON },
      { name: 'pull', script: pullScript(image) },
    ],
  };
}

/** The image's id as it was when the set-up was done. */
const RECORD = '"$HOME/.jobctl/modules/docker.image"';

const idOf = (image: string): string => `id=$(dk image inspect --format '{{.Id}}' ${shellQuote(image)} 2> /dev/null)\n`;

/** The group of a session is that of its login: whoever joined docker's since needs sudo, or sg. */
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

/** Hosts whose images want the service account's token (docs.cloud.google.com/artifact-registry/docs/docker/authentication). */
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

/** With the pull, since the token is good for an hour. By stdin: what is in words can be read by all on the host. */
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
