import type { FilePlace } from './file-copy-scripts.js';
import { intoPlace, onPlace } from './file-copy-scripts.js';

/** The right with which a host reads an object. `nobody`: over `http:`, where no credentials are sent, or by a signed URL. */
export type Reader = 'service-account' | 'nobody';

/** Seconds until a missing answer counts as unreachable. */
const CONNECT_SECONDS = 5;
/** Seconds without a byte after which a transfer is stopped; the next one continues there. */
const STALL_SECONDS = 10;

/**
 * Reads the rest of an object into the file's part, in one try. curl's configuration with the URL comes on stdin and goes to curl
 * by a pipe, with a token if one is needed, so that neither is in a command line that others on the host can read. The login
 * user's own curl and ~/.curlrc are used (a proxy, an organization's authority), but curl's output is not passed on.
 *
 * `dd` writes it at its offset, like `putScript`: a cut fetch that still runs writes the same bytes at the same offsets.
 *
 * Reports `unchanged`, `done`, `no-curl`, `no-token CODE` (curl's code of the call to the metadata server), or `failed CODE BYTES
 * MESSAGE` (curl's; the bytes that are there now). If other content arrived, it removes the part and reports a sentence: a
 * proxy's login page would otherwise stay before the bytes of another way. A full disk is a failure of the script.
 */
export const fetchScript = (place: FilePlace, reader: Reader): string => `${onPlace(place)}: >> "$t" || exit 1
PATH=$login_path
command -v curl > /dev/null || { say no-curl; exit 0; }
config=$(cat)
${reader === 'service-account' ? WITH_TOKEN : ''}other() { rm -f -- "$t"; say "$*"; exit 0; }
n=$(length "$t")
[ "$n" -le ${place.size} ] || { : > "$t"; n=0; }
code=0
if [ "$n" -lt ${place.size} ]; then
  from=$n
  heard=$( {
    {
      printf '%s\\n' "$config" | curl --config - --silent --show-error --fail --globoff --connect-timeout ${CONNECT_SECONDS} \\
        --speed-limit 1 --speed-time ${STALL_SECONDS} --range "$from-${place.size - 1}" \\
        --write-out '%{stderr}\\njobctl: http %{http_code}\\n' 2>&3
      echo "code $?" >&3
    } | dd of="$t" bs=65536 seek="$from" oflag=seek_bytes conv=notrunc status=none 2>&4 || echo 'jobctl: not written' >&3
  } 3>&1 4>&2 )
  case $heard in *'jobctl: not written'*) exit 1 ;; esac
  code=$(printf '%s\\n' "$heard" | sed -n 's/^code //p' | tail -n 1)
  http=$(printf '%s\\n' "$heard" | sed -n 's/^jobctl: http //p' | tail -n 1)
  n=$(length "$t")
  # With 4xx and 5xx nothing was written; 000 and none are no answer. A whole answer behind a part is at the wrong place.
  case $http in
    200) [ "$from" = 0 ] ;;
    206 | [45]?? | 000 | '') ;;
    *) false ;;
  esac || other "HTTP $http where bytes $from-${place.size - 1} were asked for"
  [ "$code" != 0 ] || [ "$n" -ge ${place.size} ] || other "only $n of ${place.size} bytes arrived"
fi
[ "$code" = 0 ] || { say "failed $code $n $(printf '%s\\n' "$heard" | grep '^curl: (' | tail -n 1)"; exit 0; }
${intoPlace(place)}`;

/** Gets a token of the VM's service account from the metadata server, which is never reached through a proxy. */
const WITH_TOKEN = `answer=$(curl --disable --silent --fail --noproxy '*' --connect-timeout 2 --max-time 4 --header 'Metadata-Flavor: Google' \\
  "http://\${GCE_METADATA_HOST:-metadata.google.internal}/computeMetadata/v1/instance/service-accounts/default/token") ||
  { say "no-token $?"; exit 0; }
token=$(printf '%s' "$answer" | sed -n 's/.*"access_token" *: *"\\([^"]*\\)".*/\\1/p')
[ -n "$token" ] || { say 'no-token 22'; exit 0; }
config="$config
header = \\"Authorization: Bearer $token\\""
`;

/** A line of curl's configuration. @throws RangeError for a URL that does not fit into a line */
export function urlLine(url: string): string {
  if (/[\s"\\]/.test(url))
    throw new RangeError(`URL of an object: it has a space, a quote or a backslash; encode them`);
  return `url = "${url}"\n`;
}
