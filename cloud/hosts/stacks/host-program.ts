import { FIND_DOCKER } from '../runner/container.js';
import { PRELUDE } from '../runner/prelude.js';
import { MOST_PROCESSES } from '../../../domain/stacks/stack.js';
import { PY_SPY_MEMBER, PY_SPY_VERSION, PY_SPY_WHEELS } from './py-spy.js';

/** Limit for one process, as JSON. A process beyond it is reported as too large. */
const MOST_JSON_BYTES = 4 * 1024 * 1024;
/** Time limit, in seconds, for one attempt to dump one process. */
const DUMP_SECONDS = 3;

/**
 * Examines the processes of a run as the login user, with the runner's functions; it only changes `~/.jobctl/tools`. It prints
 * these lines. `process PID STATE LOCAL-RANK KERNEL-FUNCTION NAME`, with NAME in base64 and `-` for unknown values. For a Python
 * process then `dump JSON`, gzip in base64, or `failed WORDS`, base64. `wants MACHINE` if there are Python processes and no
 * py-spy; `more`, `late` (processes that were not examined); `done`.
 *
 * It does not stop processes: py-spy reads their memory while they run (--nonblocking), since a tracer that is killed may leave
 * its process stopped (docs/adr/0127).
 *
 * $1 run id, $2 ms within which new processes are examined, $3 seconds for a download of py-spy, 0 = no download.
 */
export const HOST_PROGRAM = `${PRELUDE}${FIND_DOCKER}
run=$base/runs/$1 limit_ms=$2 fetch_s=$3
mark=JOBCTL_RUN_DIR=$run
[ -d "$run" ] || { say 'no run'; exit 0; }
machine=$(uname -m)
me=$(id -u)
{ read -r scope < /proc/sys/kernel/yama/ptrace_scope; } 2> /dev/null || scope=0
as_root=
[ "$me" = 0 ] || ! timeout 3 sudo -n true > /dev/null 2>&1 || as_root='sudo -n'
scratch=$(mktemp -d /dev/shm/jobctl-stacks.XXXXXX 2> /dev/null) || scratch=$(mktemp -d "$base/stacks.XXXXXX") || die 'no place for a file'
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

all_pids() {
  members "$mark"
  [ -f "$run/container" ] || return 0
  read -r container < "$run/container"
  find_docker
  $as_docker timeout 5 docker top "$container" -eo pid 2> /dev/null | tr -dc '0-9\\n'
}

# Who may look at process $1, as words before a command.
by_whom() {
  owner=$(stat -c %u "/proc/$1" 2> /dev/null) || return 1
  root=$as_root
  [ "$owner" != "$me" ] || [ "$scope" != 0 ] || root=
}

is_python() {
  exe=$($root readlink "/proc/$pid/exe" 2> /dev/null)
  exe=\${exe##*/}
  [ -n "$exe" ] || read -r exe < "/proc/$pid/comm" 2> /dev/null
  case $exe in
    python* | pypy*) ;;
    *) $root grep -qs 'libpython[0-9]' "/proc/$pid/maps" ;;
  esac
}

find_spy() {
  for spy in "$base/tools/py-spy-${PY_SPY_VERSION}-$machine" "$(command -v py-spy)" "$HOME/.local/bin/py-spy"; do
    [ -z "$spy" ] || [ ! -x "$spy" ] || return 0
  done
  [ "$fetch_s" -gt 0 ] && fetch_spy && spy=$base/tools/py-spy-${PY_SPY_VERSION}-$machine && return 0
  spy=
}

fetch_spy() {
  case $machine in
${Object.entries(PY_SPY_WHEELS)
  .map(([machine, { url, sha256 }]) => `    ${machine}) url=${url} sha256=${sha256} ;;`)
  .join('\n')}
    *) return 1 ;;
  esac
  mkdir -p -m 700 "$base/tools" &&
    curl -fsS --proto =https --connect-timeout 3 --max-time "$fetch_s" -o "$scratch/wheel" "$url" &&
    echo "$sha256  $scratch/wheel" | sha256sum -c --status - &&
    { unzip -p "$scratch/wheel" ${PY_SPY_MEMBER} > "$scratch/spy" ||
      python3 -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' "$scratch/wheel" ${PY_SPY_MEMBER} > "$scratch/spy"; } &&
    cp "$scratch/spy" "$base/tools/.spy.$$" && chmod 755 "$base/tools/.spy.$$" &&
    mv -f "$base/tools/.spy.$$" "$base/tools/py-spy-${PY_SPY_VERSION}-$machine"
} > /dev/null 2>&1

# What the process says while it runs may be torn: then it is asked again.
dump() {
  for try in 1 2 3; do
    $root timeout -k 1 ${DUMP_SECONDS} "$spy" dump --nonblocking --json --pid "$pid" > "$out.json" 2> "$out.err"
    code=$?
    if [ $code -eq 0 ] && [ -s "$out.json" ]; then
      [ "$(wc -c < "$out.json")" -le ${MOST_JSON_BYTES} ] || { failed 'it has too many threads'; return; }
      say "dump $(gzip -c < "$out.json" | base64 -w 0)"
      return
    fi
    case $code in 124 | 137) failed 'py-spy did not come to an end within ${DUMP_SECONDS} s'; return ;; esac
    ! grep -qiE 'permission denied|not permitted' "$out.err" || break
    sleep 0.1
  done
  failed "$(head -c 600 "$out.err" | sed '/^Stack backtrace/,$d')"
}
failed() { say "failed $(printf %s "$1" | base64 -w 0)"; }

look() {
  pid=$1 out=$scratch/$1
  line=$(cat "/proc/$pid/stat" 2> /dev/null) && by_whom "$pid" || return 0
  set -- \${line##*) }
  state=$1
  name=$(head -c 64 "/proc/$pid/comm" 2> /dev/null | base64 -w 0)
  waits_in=$($root head -c 64 "/proc/$pid/wchan" 2> /dev/null | tr -cd 'A-Za-z0-9_.')
  rank=$($root cat "/proc/$pid/environ" 2> /dev/null | tr '\\0' '\\n' |
    sed -n 's/^\\(LOCAL_RANK\\|OMPI_COMM_WORLD_LOCAL_RANK\\|SLURM_LOCALID\\)=\\([0-9]\\{1,6\\}\\)$/\\2/p' | head -n 1)
  say "process $pid $state \${rank:--} \${waits_in:--} \${name:--}"
  is_python || return 0
  : > "$scratch/python"
  if [ -n "$spy" ]; then dump; else failed 'its host has no py-spy'; fi
}

until=$(($(now_ms) + limit_ms)) number=0 begun=
pids=$(all_pids | sort -nu | head -n ${MOST_PROCESSES + 1})
spy=
for pid in $pids; do
  if by_whom "$pid" && is_python; then find_spy; break; fi
done
show() {
  wait
  for each in $begun; do [ ! -f "$scratch/$each.txt" ] || cat "$scratch/$each.txt"; done
  begun=
}
for pid in $pids; do
  number=$((number + 1))
  [ $number -le ${MOST_PROCESSES} ] || { say more; break; }
  [ "$(now_ms)" -lt "$until" ] || { say late; break; }
  look "$pid" > "$scratch/$pid.txt" 2> /dev/null < /dev/null &
  begun="$begun $pid"
  [ $((number % 8)) -ne 0 ] || show
done
show
[ -n "$spy" ] || [ ! -f "$scratch/python" ] || say "wants $machine"
say done
exit 0
`;
