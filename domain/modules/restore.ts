import type { FileSource } from '../local-files.js';
import { shellPath, shellQuote } from '../shell-quote.js';
import type { OutputEntry } from '../stored-outputs.js';
import { count, sizeText } from '../units.js';
import { CURLRC, VM_TOKEN } from './host-scripts.js';
import { fingerprintOf, type ModulePlan, type PlanSources } from './module.js';

/** Folder under the login user's home that collects restored contents, each named by its SHA-256. */
export const restoreFolder = (job: string): string => `.jobctl/restore/${job}`;

/** Name of the restore in the set-up's record and logs: the job file's key for it. Its dot keeps it apart from modules' names. */
export const RESTORE = 'outputs.restore';

export interface RestoredRound {
  /** The attempt that stored the round. */
  readonly attempt: number;
  readonly at: number;
  /** Names have one character for each byte. */
  readonly entries: readonly OutputEntry[];
  /** Number of the entries that are files, and their total size. */
  readonly files: number;
  readonly bytes: number;
}

/** The stored contents of jobs. */
export interface StoredContents {
  /** URL from which a host reads a content, with `SHA256` in place of its hash and `SOURCEJOB` in that of the job that stored it. */
  readonly url: string;
  /** The outputs in the store, for messages, with `SOURCEJOB` too. */
  readonly place: string;
}

/** The files that a host gets back, and their origin. */
export interface RestoreOf {
  readonly job: string;
  /** The attempt that is set up. */
  readonly attempt: number;
  /** The way in which the host stores its own outputs (`RunOutputs` of cloud/hosts/port.ts). */
  readonly outputs: {
    readonly as: string;
    readonly host: number;
    readonly folder: string;
    readonly base: string;
  };
  readonly contents: StoredContents;
  /** The command's user may change the restored files. In a container that may be any user. */
  readonly isForAnybody: boolean;
}

/** Printed by a host that already has the files of the round's attempt, or of a later one. */
export const KEPT = 'nothing is put back: attempt';
/** Printed by a host that has put everything back. */
export const PUT_BACK = 'put back, as host';

/**
 * Puts a round back on a host (docs/adr/0124), as the host stored it. The host reads the contents itself, compares their SHA-256,
 * and puts them in place once all of them are there. A host that ran the round's attempt, or a later one, keeps its files.
 * @param list `restoreList` of the round
 */
export function restorePlan(
  of: RestoreOf,
  round: RestoredRound,
  list: FileSource,
  sources: Pick<PlanSources, 'sha256'>,
): ModulePlan {
  const script = `${settings(of, round)}${VM_TOKEN}${LAY_FILES}`;
  const files = [{ path: LIST, content: list, mode: 0o600 }];
  const fingerprint = fingerprintOf(sources, script, list.sha256);
  return { name: RESTORE, fingerprint, check: 'true', steps: [{ name: 'put back', script, files }] };
}

/**
 * For a host whose worker hands it the contents (docs/adr/0129): prints `keeps` if the host itself has the files of the round's
 * attempt, or of a later one.
 */
export const keepsScript = (job: string, host: number, round: Pick<RestoredRound, 'attempt'>): string =>
  `exec bash -c ${shellQuote(`job=${shellQuote(job)} stored_by=${round.attempt} host=${host}\n${RAN_HERE}echo keeps\n${DONE}`)}`;

/** Says in the set-up's log why nothing is put back. */
export function nothingToRestore(why: string, attempt: number): ModulePlan {
  const script = `echo ${shellQuote(`restore: ${why}`)}\n`;
  return { name: RESTORE, fingerprint: `none-${attempt}`, check: 'true', steps: [{ name: 'put back', script }] };
}

const LIST = '.jobctl/modules/restore.list';

/**
 * The list for the host: eight fields of each entry, with NUL behind each: KIND FOLDER PATH SHA256|TARGET SIZE MODE TIME JOB. A
 * character of the text is a byte of the list.
 * @param job the one that stored them
 */
export function restoreList(entries: readonly OutputEntry[], job: string): string {
  const fields = entries.map((entry) => {
    const place = [entry.kind, entry.isInOutputDir ? 'dir' : 'base', entry.path];
    if (entry.kind === 'folder') return [...place, '', '', '', '', job];
    if (entry.kind === 'link') return [...place, entry.target, '', '', '', job];
    const { sha256, size, mode, modifiedAt } = entry;
    return [...place, sha256, String(size), mode.toString(8), (modifiedAt / 1000).toFixed(3), job];
  });
  return fields.map((row) => row.map((field) => `${field}\0`).join('')).join('');
}

function settings({ job, attempt, outputs, contents, isForAnybody }: RestoreOf, round: RestoredRound): string {
  const { files, bytes } = round;
  const { folder, base, as, host } = outputs;
  const what = `${count(files, 'file')} (${sizeText(bytes)}) of attempt ${round.attempt}`;
  const done = `${what} ${PUT_BACK} ${host} stored them at ${new Date(round.at).toISOString()}`;
  const laying = { label: 'restore', what, done, stage: restoreFolder(job), list: LIST, folder, base, as } as const;
  // With the attempt's number, so that it is another plan for each attempt.
  return `job=${shellQuote(job)} attempt=${attempt} stored_by=${round.attempt} host=${host}
keeps() {
${RAN_HERE}  echo "restore: ${KEPT} $ran ran here as host $host, and its files are on this host"
${DONE}}
${layingSettings({ ...laying, contents, rights: isForAnybody ? 'a+rwX' : '' })}`;
}

/** Settings of `LAY_FILES`. */
export interface Laying {
  /** Begins each line of its output. */
  readonly label: string;
  /** The files, in words, and the last line of its output. */
  readonly what: string;
  readonly done: string;
  /** Below the login user's home: the folder that collects contents, and the list. */
  readonly stage: string;
  readonly list: string;
  /** Folders for entries `dir` and `base` of the list. */
  readonly folder: string;
  readonly base: string;
  /** Who reads the contents. `worker`: they are on the host already. */
  readonly as: string;
  readonly contents: StoredContents;
  /** Rights that all files of `folder` get, for chmod. Empty: their own. */
  readonly rights: '' | 'a+rwX' | 'a+rX';
}

/** The function `keeps` is to be defined before: it ends the script if the host has newer files. */
export function layingSettings(laying: Laying): string {
  const { label, what, done, stage, list, folder, base, as, contents, rights } = laying;
  if (/[\s"\\]/.test(contents.url)) throw new RangeError('URL of outputs: it has a space, a quote or a backslash');
  return `label=${label} what=${shellQuote(what)} told=${shellQuote(done)}
as=${as} object=${shellQuote(contents.url)} store=${shellQuote(contents.place)} rights=${rights}
dir=${shellPath(folder)} base=${shellPath(base)}
stage=$HOME/${stage}
list=$HOME/${list}
`;
}

/** Loops over the runs on this host, under the same host number, of the round's attempt or of later ones. */
const RAN_HERE = `for begun in "$HOME/.jobctl/runs/$job"-a*/begun; do
  run=\${begun%/begun}
  ran=\${run##*-a}
  case $ran in '' | *[!0-9]*) continue ;; esac
  [ -f "$begun" ] && [ "$run" = "$HOME/.jobctl/runs/$job-a$ran" ] && [ "$ran" -ge "$stored_by" ] || continue
  grep -qx "outputs_host=$host" "$run/plan" || continue
`;
const DONE = `  exit 0
done
`;

/**
 * Lays down the files of a list (`layingSettings`). Uses bash and curl, like the program that stores them
 * (runner/outputs-program.ts). Contents gather in a separate folder: the next try continues a failed one. Nothing is written through a symbolic link. A subshell, because steps share a login shell.
 */
export const LAY_FILES = `(
set -u
export LC_ALL=C
fail() { echo "$label: $*"; exit 1; }
full() { fail "no space left on device: $what do not fit on this host"; }

keeps
kinds=() roots=() paths=() sums=() sizes=() modes=() times=() jobs=()
while IFS= read -r -d '' kind && IFS= read -r -d '' root && IFS= read -r -d '' path && IFS= read -r -d '' sum &&
  IFS= read -r -d '' size && IFS= read -r -d '' mode && IFS= read -r -d '' time && IFS= read -r -d '' job; do
  [ "$root" = dir ] && root=$dir || root=$base
  kinds+=("$kind") roots+=("$root") paths+=("$path") sums+=("$sum") sizes+=("$size") modes+=("$mode") times+=("$time") jobs+=("$job")
done < "$list" || fail "the list of files, $list, cannot be read"

# What stands in the way is said before anything is fetched.
checked=
for at in "\${!paths[@]}"; do
  above=\${roots[at]} rest=\${paths[at]}
  [ "$checked" != "$above/\${rest%/*}" ] || continue
  checked="$above/\${rest%/*}"
  while case $rest in */*) ;; *) false ;; esac; do
    above=$above/\${rest%%/*} rest=\${rest#*/}
    [ ! -L "$above" ] || fail "\${paths[at]}: $above is a symbolic link on this host; nothing is written through it"
    [ ! -e "$above" ] || [ -d "$above" ] || fail "\${paths[at]}: $above is no folder on this host"
  done
done
for at in "\${!paths[@]}"; do
  [ "\${kinds[at]}" = folder ] || [ -L "\${roots[at]}/\${paths[at]}" ] || [ ! -d "\${roots[at]}/\${paths[at]}" ] ||
    fail "\${paths[at]}: is a folder on this host"
done

(umask 077 && mkdir -p "$stage") || fail "cannot make $stage"
exec 8> "$stage.lock"
flock 8

# Files that are there as they were stored: of an earlier try, or of the bundle.
declare -A wanted=() of_sum=() job_of=() size_of=() in_place=() left=() uses=()
same=()
while IFS= read -r -d '' size && IFS= read -r -d '' file; do size_of["$file"]=$size; done \\
  < <(for at in "\${!paths[@]}"; do [ "\${kinds[at]}" != file ] || printf '%s\\0' "\${roots[at]}/\${paths[at]}"; done |
    xargs -0 -r sh -c 'find "$@" -maxdepth 0 -type f -printf "%s\\0%p\\0"' sh 2> /dev/null)
for at in "\${!paths[@]}"; do
  [ "\${kinds[at]}" = file ] || continue
  wanted["\${sums[at]}"]=\${sizes[at]} of_sum["\${sums[at]}"]=\${paths[at]} job_of["\${sums[at]}"]=\${jobs[at]}
  file=\${roots[at]}/\${paths[at]}
  [ "\${size_of["$file"]:-}" != "\${sizes[at]}" ] || same+=("$file")
done
[ \${#same[@]} -eq 0 ] || while IFS= read -r -d '' record; do in_place["\${record:66}"]=\${record:0:64}; done \\
  < <(printf '%s\\0' "\${same[@]}" | xargs -0 sha256sum -z --)
need=0
for at in "\${!paths[@]}"; do
  [ "\${kinds[at]}" = file ] && [ "\${in_place["\${roots[at]}/\${paths[at]}"]:-}" != "\${sums[at]}" ] || continue
  uses["\${sums[at]}"]=$((\${uses["\${sums[at]}"]:-0} + 1))
  [ "\${uses["\${sums[at]}"]}" -gt 1 ] || [ -f "$stage/\${sums[at]}" ] || { left["\${sums[at]}"]=yes need=$((need + sizes[at])); }
done
free=$(df -Pk "$stage" | awk 'NR == 2 { print $4 }')
[ $((need / 1024)) -le "\${free:-$need}" ] || full

${CURLRC}
place_of() { echo "\${store/SOURCEJOB/\${job_of["$1"]}}contents/$1"; }
wrong() {
  rm -f "$stage/$1.part"
  fail "\${of_sum["$1"]}: what is stored is not what its host stored (SHA-256): somebody has changed $(place_of "$1")"
}

# Whole parts with the right content become contents.
take_parts() {
  local sum size record parts=()
  for sum in "\${!left[@]}"; do [ "\${wanted["$sum"]}" -gt 0 ] || : > "$stage/$sum.part" || full; done
  while read -r size sum; do
    [ -n "\${left["$sum"]:-}" ] || continue
    got=$((got + size))
    [ "$size" -le "\${wanted["$sum"]}" ] || wrong "$sum"
    [ "$size" != "\${wanted["$sum"]}" ] || parts+=("$stage/$sum.part")
  done < <(find "$stage" -name '*.part' -printf '%s %f\\n' | sed 's/\\.part$//')
  [ \${#parts[@]} -gt 0 ] || return 0
  while IFS= read -r -d '' record; do
    sum=\${record##*/} sum=\${sum%.part}
    if [ "\${record:0:64}" = "$sum" ]; then mv -f "$stage/$sum.part" "$stage/$sum" && unset "left[$sum]"
    else wrong "$sum"; fi
  done < <(printf '%s\\0' "\${parts[@]}" | xargs -0 sha256sum -z --)
}

# STRIDE NUMBER: curl's configuration for every STRIDE-th of the contents that are left. URLs and the token are in no command line.
requests() {
  local number url
  for ((number = $2; number < \${#queue[@]}; number += $1)); do
    sum=\${queue[number]}
    url=\${object/SHA256/$sum}
    [ $number = $2 ] || echo next
    printf '%s\\nsilent\\nshow-error\\nfail\\ngloboff\\nconnect-timeout = 5\\nspeed-limit = 1\\nspeed-time = 30\\n' "$curlrc"
    printf 'url = "%s"\\noutput = "%s"\\ncontinue-at = -\\n' "\${url/SOURCEJOB/\${job_of["$sum"]}}" "$stage/$sum.part"
    printf 'write-out = "%s%%{http_code} %s\\\\n"\\n%s\\n' 'said ' "$sum" "$header"
  done
}
# One that is longer than what was stored fills no disk.
ask() { ulimit -f $((largest / 1024 + 64)); curl --disable --config <(requests "$1" "$2") 2>&1 8>&- | grep -a --line-buffered -E '^(said|curl: \\([0-9]+\\)) '; }

tries=0 best=-1 got=0 trouble= is_full= largest=0
for size in "\${wanted[@]}"; do [ "$size" -le $largest ] || largest=$size; done
mask=$(umask)
umask 077
take_parts
while [ \${#left[@]} -gt 0 ]; do
  [ "$as" != worker ] || fail "\${#left[@]} of \${#wanted[@]} contents are not here any more, though they were sent"
  command -v curl > /dev/null || fail 'this host has no curl, with which stored files are fetched'
  [ $got -le $best ] || { best=$got tries=0; }
  [ $tries -lt 4 ] || fail "$trouble; \${#left[@]} of \${#wanted[@]} contents are not here"
  [ $tries -eq 0 ] || sleep $tries
  tries=$((tries + 1)) got=0 header= trouble='the store gave no answer'
  if [ "$as" = service-account ]; then
    token=$(vm_token)
    [ -n "$token" ] || { trouble='the VM has no service account with a token'; continue; }
    header="header = \\"Authorization: Bearer $token\\""
  fi
  queue=("\${!left[@]}") width=4
  [ \${#queue[@]} -ge 4 ] || width=\${#queue[@]}
  while read -r said code sum; do
    case "$said $code" in
      'said 2'* | 'said 000') ;;
      'said 401' | 'said 403') fail "this host may not read \${store/SOURCEJOB/\${job_of["$sum"]}} (HTTP $code)" ;;
      'said 404') fail "\${of_sum["$sum"]}: its content is not in the store any more ($(place_of "$sum"), HTTP 404)" ;;
      # A part that is as long as the content, or longer.
      'said 416') rm -f "$stage/$sum.part" ;;
      said*) trouble="the store answers with HTTP $code" ;;
      'curl: (23)') is_full=yes ;;
      'curl: (22)') ;;
      *) trouble="$said $code $sum" ;;
    esac
  done < <(for ((number = 0; number < width; number++)); do ask $width $number & done; wait)
  take_parts
  [ -z "$is_full" ] || full
  [ \${#left[@]} -eq 0 ] || [ "$trouble" != 'the store gave no answer' ] || trouble='not all of the contents arrived'
done
umask "$mask"

# PATH SHA256 TIME. A file is whole before it has its name.
put_file() {
  local from=$stage/$2
  if [ "\${uses["$2"]}" -gt 1 ]; then
    from=$1.jobctl-new
    cp -- "$stage/$2" "$from" || { rm -f -- "$from"; full; }
  fi
  uses["$2"]=$((uses["$2"] - 1))
  touch -d "@$3" "$from" && mv -fT -- "$from" "$1"
}
made=
for at in "\${!paths[@]}"; do
  place=\${roots[at]}/\${paths[at]}
  [ "$made" = "\${place%/*}" ] || mkdir -p -- "\${place%/*}" || fail "\${paths[at]}: its folder cannot be made"
  made=\${place%/*}
  case \${kinds[at]} in
    file)
      if [ "\${in_place["$place"]:-}" = "\${sums[at]}" ]; then touch -d "@\${times[at]}" "$place"; else put_file "$place" "\${sums[at]}" "\${times[at]}"; fi ;;
    folder) mkdir -p -- "$place" ;;
    link) rm -f -- "$place.jobctl-new" && ln -s -- "\${sums[at]}" "$place.jobctl-new" && mv -fT -- "$place.jobctl-new" "$place" ;;
  esac || fail "\${paths[at]}: cannot be written on this host"
done
for mode in $(printf '%s\\n' "\${modes[@]}" | sort -u); do
  for at in "\${!paths[@]}"; do [ "\${modes[at]}" != "$mode" ] || printf '%s\\0' "\${roots[at]}/\${paths[at]}"; done |
    xargs -0 -r chmod "$mode" -- || fail "mode $mode could not be set"
done
[ -z "$rights" ] || [ ! -d "$dir" ] || chmod -R "$rights" "$dir" 2> /dev/null
rm -rf "$stage" "$stage.lock" "$list"
echo "$label: $told"
)
`;
