import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../domain/errors.js';
import { shellPath } from '../../domain/shell-quote.js';
import type { FileSource } from '../../domain/local-files.js';
import { abortable, answerWithin } from '../abort.js';
import { overCuts, putFile, say, partName, sizeScript, type FilePlace, intoPlace, onPlace } from './file-copy.js';
import type { PutFileOptions, StoredSource } from './port.js';
import { wayOf } from './reaches.js';
import type { HostLink } from './remote-exec.js';

/**
 * Number of consecutive attempts without a further byte at which a source is given up, while the store or its network fails.
 */
const TRIES_WITHOUT_PROGRESS = 5;
const FIRST_PAUSE_MS = 500;
/** Limit for a signature by Google's service (signBlob), whose client would wait for ever. */
const SIGNING_MS = 10_000;
/** Time after which a source that was closed to a host (no right, no metadata server) is tried again. */
const CLOSED_MS = 10 * 60_000;

/** Takes one line, without its end, for the log of the file's module. */
type Tell = (line: string) => void | Promise<void>;

/**
 * Puts files on one host by the cheapest way that works there: the host reads them from the store, as the VM's service account or
 * by a signed URL, or else they are sent over SSH (docs/adr/0027). Ways that fail are remembered, so that not every file pays for
 * them again.
 */
export class StoreFetch {
  readonly #link: HostLink;
  /** The time, in epoch ms, until which a way is not tried. `store`: none of them. */
  readonly #closed = new Map<FetchWay | 'store', number>();

  constructor(link: HostLink) {
    this.#link = link;
  }

  /**
   * Like `HostConnection.putFile`, for a path below the login user's home.
   * @param tell is called with the way that the file took, and why no better one worked. Not called if the file was there.
   */
  async place(source: FileSource, path: string, options: PutFileOptions, tell: Tell): Promise<'unchanged' | 'done'> {
    if (!isStored(source)) return putFile(this.#link, source, path, options);
    const { called } = source.stored;
    const since = Date.now();
    const fetched = await this.#fetched(source, path, options);
    const why = fetched.reasons.length === 0 ? '' : ` (${fetched.reasons.join('; ')})`;
    if (fetched.end === 'unchanged') return fetched.end;
    if (fetched.end === 'done') {
      await tell(`${called}, ${told(source, since)}, ${WORDS[fetched.way]}${why}`);
      return fetched.end;
    }
    if (why !== '') await tell(`${called}: ${this.#link.over}${why}`);
    const end = await putFile(this.#link, source, path, options);
    if (end === 'done') await tell(`${called}, ${told(source, since)}, ${this.#link.over}`);
    return end;
  }

  async #fetched(source: StoredSource, path: string, options: PutFileOptions): Promise<Fetched> {
    const { url } = source.stored;
    const isOpen = url?.startsWith('http:') === true;
    if (isOpen && !wayOf(this.#link.target).hasAccount(this.#link.target)) return { end: 'not-fetched', reasons: [] };
    const first: FetchWay = isOpen ? 'plain' : 'service-account';
    const ways: readonly FetchWay[] = url === undefined ? ['signed-url'] : [first, 'signed-url'];
    const reasons: string[] = [];
    for (const way of ways) {
      if (this.#isClosed('store') || this.#isClosed(way)) continue;
      const answer = await this.#tried(way, source, path, options);
      if (answer.kind === 'placed') return { end: answer.end, way, reasons };
      const { reason, closes } = whyNot(answer, way, source.stored);
      reasons.push(reason);
      if (closes !== undefined) this.#closed.set(closes, Date.now() + CLOSED_MS);
      // Another identity only helps against a missing right.
      if (closes !== way) break;
    }
    return { end: 'not-fetched', reasons };
  }

  #isClosed(way: FetchWay | 'store'): boolean {
    return (this.#closed.get(way) ?? 0) > Date.now();
  }

  /** Tries one way. Repeats it while the store or its network may recover, and after each cut of the connection to the host. */
  async #tried(
    way: FetchWay,
    source: StoredSource,
    path: string,
    { mode, signal }: PutFileOptions,
  ): Promise<FetchAnswer> {
    const { size, sha256, stored } = source;
    const place: FilePlace = { path: shellPath(path), part: partName(path, sha256), mode, size, sha256 };
    let isCut = false;
    return overCuts(signal, async (progress) => {
      if (isCut) {
        const there = await say(this.#link, path, sizeScript(place), { signal });
        progress(there === 'unchanged' ? size : Number(there));
      }
      isCut = true;
      return persistently(signal, async () => {
        const url = way === 'signed-url' ? await signedUrl(stored, signal) : { url: stored.url ?? '' };
        if ('kind' in url) return url;
        const script = fetchScript(place, way === 'service-account' ? 'service-account' : 'nobody');
        return fetchAnswer(await say(this.#link, path, script, { stdin: Buffer.from(urlLine(url.url)), signal }));
      });
    });
  }
}

type Fetched =
  | { readonly end: 'unchanged' | 'done'; readonly way: FetchWay; readonly reasons: readonly string[] }
  | { readonly end: 'not-fetched'; readonly reasons: readonly string[] };

const WORDS: Readonly<Record<FetchWay, string>> = {
  plain: 'from the store',
  'service-account': "from the store, by the VM's service account",
  'signed-url': 'from the store, by a signed URL',
};

function isStored(source: FileSource): source is StoredSource {
  return 'stored' in source;
}

function told({ size }: FileSource, since: number): string {
  return `${(size / 1e6).toFixed(1)} MB in ${((Date.now() - since) / 1000).toFixed(1)} s`;
}

/** Retries transient failures. The limit of attempts starts anew whenever an attempt gets further than those before. */
async function persistently(signal: AbortSignal, attempt: () => Promise<FetchAnswer>): Promise<FetchAnswer> {
  let best = 0;
  for (let tries = 1; ; tries++) {
    const answer = await attempt();
    if (answer.kind !== 'trouble') return answer;
    if (answer.bytes > best) tries = 1;
    best = Math.max(best, answer.bytes);
    if (tries >= TRIES_WITHOUT_PROGRESS) return answer;
    // The random part keeps hosts that meet the same failure from repeating in step.
    await sleep(FIRST_PAUSE_MS * 2 ** (tries - 1) * (0.5 + Math.random()), undefined, { signal });
  }
}

/** Signs the URL when it is used. A refusal is a reason for another way and does not end the set-up. */
async function signedUrl(
  stored: StoredSource['stored'],
  signal: AbortSignal,
): Promise<{ readonly url: string } | FetchAnswer> {
  try {
    const url = await answerWithin(SIGNING_MS, () => abortable(stored.signedUrl(), signal));
    return url === undefined ? { kind: 'unsigned', message: "the worker's credentials cannot sign a URL" } : { url };
  } catch (error) {
    signal.throwIfAborted();
    const message = messageOf(error).replaceAll(/\s+/g, ' ');
    return { kind: 'unsigned', message: `the worker could not sign a URL: ${message}` };
  }
}

/** The right with which a host reads an object. `nobody`: over `http:`, where no credentials are sent, or by a signed URL. */
type Reader = 'service-account' | 'nobody';

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
const fetchScript = (place: FilePlace, reader: Reader): string => `${onPlace(place)}: >> "$t" || exit 1
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
function urlLine(url: string): string {
  if (/[\s"\\]/.test(url))
    throw new RangeError(`URL of an object: it has a space, a quote or a backslash; encode them`);
  return `url = "${url}"\n`;
}

/** The right with which a host reads from the store. `plain`: over `http:`, without any. */
type FetchWay = 'plain' | 'service-account' | 'signed-url';

/** The result of one try to have a host read an object. */
type FetchAnswer =
  | { readonly kind: 'placed'; readonly end: 'unchanged' | 'done' }
  | { readonly kind: 'no-curl' }
  /** `hasServer`: a metadata server answered, but has no service account. */
  | { readonly kind: 'no-token'; readonly hasServer: boolean }
  | { readonly kind: 'unsigned'; readonly message: string }
  /** The store refused the request. */
  | { readonly kind: 'refused'; readonly status: number }
  /** No connection, or none that curl trusts. */
  | { readonly kind: 'unreachable'; readonly message: string }
  /** The failure may pass. @param bytes that are there now */
  | { readonly kind: 'trouble'; readonly bytes: number; readonly message: string }
  /** Its size or content differs from the file's. */
  | { readonly kind: 'other-content'; readonly message: string };

/**
 * curl's exit codes (curl.se/docs/manpage.html, 7.88) for a connection that was not made: unsupported protocol, a proxy or host
 * without an address, refused, TLS. 28 is a timeout of the connection or of the transfer; its text tells which.
 */
const UNREACHABLE: ReadonlySet<number> = new Set([
  1, 3, 5, 6, 7, 35, 51, 53, 54, 58, 59, 60, 66, 77, 80, 82, 83, 90, 91,
]);
const TIMEOUT = 28;
const HTTP_ERROR = 22;
const PASSING_STATUS: ReadonlySet<number> = new Set([408, 429]);

/** @param said the last word of `fetchScript` */
export function fetchAnswer(said: string): FetchAnswer {
  const [word = '', code = '', bytes = '', ...rest] = said.split(' ');
  switch (word) {
    case 'unchanged':
    case 'done':
      return { kind: 'placed', end: word };
    case 'no-curl':
      return { kind: 'no-curl' };
    case 'no-token':
      return { kind: 'no-token', hasServer: Number(code) === HTTP_ERROR };
    case 'failed':
      return failure(Number(code), Number(bytes), rest.join(' ') || `curl ended with code ${code}`);
    default:
      return { kind: 'other-content', message: said };
  }
}

function failure(code: number, bytes: number, message: string): FetchAnswer {
  const status = Number(/returned error: (\d{3})/.exec(message)?.[1]);
  if (code === HTTP_ERROR && status < 500 && !PASSING_STATUS.has(status)) return { kind: 'refused', status };
  const isConnecting = code === TIMEOUT && /resolv|connect/i.test(message);
  if (UNREACHABLE.has(code) || isConnecting) return { kind: 'unreachable', message };
  return { kind: 'trouble', bytes, message };
}

interface WhyNot {
  /** For the log. */
  readonly reason: string;
  /** The way, or the whole store, that must not be tried for other files either. Undefined: only this file is concerned. */
  readonly closes?: FetchWay | 'store';
}

function whyNot(
  answer: Exclude<FetchAnswer, { kind: 'placed' }>,
  way: FetchWay,
  stored: StoredSource['stored'],
): WhyNot {
  switch (answer.kind) {
    case 'no-curl':
      return { reason: 'this host has no curl', closes: 'store' };
    case 'no-token':
      return {
        reason: answer.hasServer ? 'this VM has no service account' : 'no metadata server answers this host',
        closes: way,
      };
    case 'unsigned':
      return { reason: answer.message, closes: way };
    case 'refused': {
      const isRight = answer.status === 401 || answer.status === 403;
      const reason = `${WHO[way]} ${isRight ? 'may' : 'could'} not read ${stored.place} (HTTP ${answer.status})`;
      return { reason, ...(isRight && { closes: way }) };
    }
    case 'unreachable':
      return { reason: `this host does not reach the store: ${answer.message}`, closes: 'store' };
    case 'trouble':
      return { reason: `${stored.place}: ${answer.message}`, closes: 'store' };
    case 'other-content':
      // Most likely a proxy's page, which every other file would get too.
      return { reason: `${stored.place}: ${answer.message}`, closes: 'store' };
  }
}

const WHO: Readonly<Record<FetchWay, string>> = {
  plain: 'a host without credentials',
  'service-account': "the VM's service account",
  'signed-url': 'a URL that the worker signed',
};
