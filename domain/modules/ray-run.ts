import { shellQuote, shellWords } from '../shell-quote.js';
import type { RaySpec } from './ray.js';

/** Variables of an attempt's runs by which its hosts find each other. */
interface RayPlace {
  /** Internal addresses of all hosts of all slices. The first is the head. */
  readonly addresses: readonly string[];
  /** This host's position in `addresses`, from 0. */
  readonly number: number;
  /** Equal on all hosts of the attempt, and different in every other attempt. */
  readonly token: string;
  /** Number of the head's slot, from 0 to 63. Absent: its machine has no slots. */
  readonly slot?: number;
}

export function rayVariables({ addresses, number, token, slot }: RayPlace): Readonly<Record<string, string>> {
  return {
    ...{ JOBCTL_RAY_HOSTS: addresses.join(','), JOBCTL_RAY_HOST: String(number), JOBCTL_RAY_TOKEN: token },
    ...(slot !== undefined && { JOBCTL_RAY_SLOT: String(slot) }),
  };
}

/** Gives a hook the environment of the command's Ray, while Ray runs. */
export const ENTER_RAY = '[ ! -r "$JOBCTL_RUN_DIR/ray.env" ] || . "$JOBCTL_RUN_DIR/ray.env"\n';

/**
 * The script of a host for a command with Ray, in the bash that has entered the command's bundle and environment. It runs Ray
 * until it is told to end. On the first host it runs the command once all hosts have joined, then ends Ray, and exits with the
 * command's code. `ended-by` of the run says that Ray ended without being told to (docs/runner.md).
 */
export function rayScript(spec: RaySpec, run: string): string {
  return `${FUNCTIONS}
ray_settings=(${shellWords(settings(spec))})
ray_head_settings=(${shellWords(headSettings(spec))})
ray_base=${spec.portBase ?? ''}
ray_join_seconds=${Math.ceil(spec.joinSeconds)}
ray_command=${shellQuote(run)}
ray_main
(trap - TERM; eval "$ray_command")
ray_over $?
`;
}

/** The kernel chooses the ports, so that hosts that share one network, as rehearsed VMs do, do not collide. */
function settings({ cpus, resources, objectStoreBytes }: RaySpec): string[] {
  return [
    '--dashboard-agent-listen-port=0',
    '--min-worker-port=0',
    '--max-worker-port=0',
    ...(cpus === undefined ? [] : [`--num-cpus=${cpus}`]),
    ...(resources === undefined ? [] : [`--resources=${JSON.stringify(resources)}`]),
    ...(objectStoreBytes === undefined ? [] : [`--object-store-memory=${objectStoreBytes}`]),
  ];
}

const headSettings = ({ dashboard }: RaySpec): string[] =>
  dashboard === undefined ? [] : [`--include-dashboard=${dashboard}`];

/**
 * A process of Ray is ours if it carries our mark in its environment. Processes are ended by that mark, never by `ray stop`,
 * which ends every Ray of the user. `setsid -f` starts `ray start`: '&' would leave SIGINT ignored, and Ray cancels tasks by
 * SIGINT. The reaper of `ray start` kills its own process group, so `ray start` has a separate session.
 *
 * Ray's socket paths have 107 bytes at most, and its hosts share one folder name: so /tmp/jobctl-ray-<12 digits>-<attempt>.
 */
const FUNCTIONS = `# jobctl: Ray on every host of the attempt, the command on the first (docs/ray.md).
ray_say() { printf 'jobctl: ray: %s\\n' "$*"; }
ray_pids() { grep -lszFx -e "JOBCTL_RAY_OF=$JOBCTL_RUN_DIR" /proc/[0-9]*/environ | tr -dc '0-9\\n'; }
ray_named() { local pid name; for pid in $(ray_pids); do read -r name < "/proc/$pid/comm" && [ "$name" = "$1" ] && echo "$pid" && return; done 2> /dev/null; }

# A process that runs. One that has ended may wait for its parent.
ray_runs() {
  local line
  { read -r line < "/proc/$1/stat"; } 2> /dev/null || return 1
  line=\${line##*) }
  case $line in [ZX]*) return 1 ;; esac
}

# All that has to run on this host. 'ray start' itself does not end with what it has started, if that was told to end.
ray_lives() { local pid; for pid in "\${ray_parts[@]}"; do ray_runs "$pid" || return 1; done; }

ray_start() {
  JOBCTL_RAY_OF=$JOBCTL_RUN_DIR setsid -f bash -c 'echo $$ > "$0.new" && mv "$0.new" "$0"; exec ray start --block "$@"' \\
    "$JOBCTL_RUN_DIR/ray.pid" "$@" "\${ray_settings[@]}" --node-ip-address="$ray_ip" < /dev/null > "$JOBCTL_RUN_DIR/ray.log" 2>&1
  local name pid
  until [ -s "$JOBCTL_RUN_DIR/ray.pid" ]; do [ $SECONDS -lt $ray_limit ] || return 1; sleep 0.1; done
  read -r pid < "$JOBCTL_RUN_DIR/ray.pid"
  ray_parts=("$pid")
  for name in $ray_names; do
    until pid=$(ray_named "$name"); [ -n "$pid" ]; do
      ray_lives || return 1
      [ -z "$ray_told" ] && [ $SECONDS -lt $ray_limit ] || return 1
      sleep 0.5
    done
    ray_parts+=("$pid")
  done
}

# All of our Ray's processes on this host, whatever state they are in, and our files.
ray_end() {
  local pids limit=$((SECONDS + 10)) last=$((SECONDS + 30))
  pids=$(ray_pids)
  [ -z "$pids" ] || kill -TERM $pids 2> /dev/null
  while pids=$(ray_pids); [ -n "$pids" ]; do
    [ $SECONDS -lt $limit ] || kill -KILL $pids 2> /dev/null
    [ $SECONDS -lt $last ] || { ray_say "processes that cannot be killed:" $pids; break; }
    sleep 0.2
  done
  rm -rf -- "$ray_dir"
  rm -f -- "$JOBCTL_RUN_DIR/ray.env" "$RAY_AUTH_TOKEN_PATH"
}

# Ray ended, or never came up, and nobody had told it to: the attempt's loss, not the command's failure.
ray_lost() {
  ray_say "$1"
  tail -n 20 -- "$JOBCTL_RUN_DIR/ray.log" "$ray_dir"/session_latest/logs/{gcs_server,raylet}.err 2> /dev/null
  echo ray > "$JOBCTL_RUN_DIR/ended-by"
  ray_end
  exit 1
}

ray_failed() { [ -n "$ray_told" ] || ray_lost "$1"; ray_end; exit 143; }
ray_refused() { ray_say "$1"; exit 126; }

# Somebody listens at port $2 of $1.
ray_answers() { timeout 5 bash -c 'exec 3<> "/dev/tcp/$0/$1"' "$1" "$2" 2> /dev/null; }

# Says which of the hosts have not joined, as soon as the rest cannot be waited for.
RAY_ROLL='
import collections, sys, time
import ray
address, hosts, end = sys.argv[1], sys.argv[2].split(","), time.monotonic() + float(sys.argv[3])
here, why = [], "it does not answer"
while time.monotonic() < end:
    try:
        if not ray.is_initialized():
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", configure_logging=False)
        here = [node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]]
        why = ""
        if not collections.Counter(hosts) - collections.Counter(here):
            sys.exit(0)
    except (ConnectionError, RuntimeError, TimeoutError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
    time.sleep(0.5)
missing = [f"{number} ({host})" for number, host in enumerate(hosts) if host not in here]
print("jobctl: ray: Ray at", address, why, flush=True) if why else print("jobctl: ray: these hosts have not joined:", ", ".join(missing), flush=True)
sys.exit(1)
'

ray_roll() {
  local roll
  "$ray_python" -c "$RAY_ROLL" "$RAY_ADDRESS" "$JOBCTL_RAY_HOSTS" "$((ray_limit - SECONDS))" &
  roll=$!
  while ray_runs $roll; do
    ray_lives && [ -z "$ray_told" ] || { kill -KILL $roll; break; }
    sleep 0.5
  done
  wait $roll 2> /dev/null
}

# In the background beside the command: it ends with Ray. $1 is the shell that waits for the command.
ray_watch() {
  # In $(..) it is another.
  local grace=TERM others me=$BASHPID
  while ray_lives; do sleep 1; done
  : > "$JOBCTL_RUN_DIR/ray.lost"
  ray_say "Ray has ended: the command is told to end"
  while others=$(ray_session "$1" $me); [ -n "$others" ]; do
    kill -$grace $others 2> /dev/null
    for _ in {1..60}; do [ -z "$(ray_session "$1" $me)" ] && break; sleep 0.5; done
    grace=KILL
  done
}
# Processes of the command's session, but for the shell $1 and what the watch $2 has started.
ray_session() {
  cat /proc/[0-9]*/stat 2> /dev/null | awk -v shell="$1" -v watch="$2" '
    { pid = $1; sub(/^.*\\) /, ""); if ($1 == "Z" || $1 == "X") next; parent[pid] = $2; if ($4 == shell) mine[pid] = 1 }
    END { for (pid in mine) { for (up = pid; up in parent && up != shell && up != watch; up = parent[up]); if (pid != shell && up != watch) print pid } }'
}

ray_head() {
  local port flags=("--port=$ray_port" "--dashboard-port=$((ray_port + 1))" --dashboard-host=127.0.0.1 "--temp-dir=$ray_dir")
  ray_names='gcs_server raylet'
  ! "$ray_python" -c 'import grpc' 2> /dev/null || flags+=("--ray-client-server-port=$((ray_port + 2))")
  for port in $ray_port $((ray_port + 1)) $((ray_port + 2)); do
    ! ray_answers "$ray_ip" $port && ! ray_answers 127.0.0.1 $port || {
      ray_end
      ray_refused "port $port of this host is in use by another program: name the first of three free ones in ray.port_base"
    }
  done
  ray_start --head "\${flags[@]}" "\${ray_head_settings[@]}" || ray_failed "Ray did not start on this host"
  ray_roll || ray_failed "the command was not started: not all of \${#ray_hosts[@]} hosts have joined within $ray_join_seconds s (ray.join_timeout)"
  ray_say "\${#ray_hosts[@]} hosts at $RAY_ADDRESS"
  ray_watch $$ &
  ray_watch=$!
  disown
}

# The command ended with code $1.
ray_over() {
  kill -KILL $ray_watch 2> /dev/null
  # Ray may have ended just before, and nobody has seen it yet.
  if [ -z "$ray_told" ] && { [ -e "$JOBCTL_RUN_DIR/ray.lost" ] || { [ "$1" -ne 0 ] && ! ray_lives; }; }; then
    ray_lost "Ray ended on this host before the command, which ended with code $1"
  fi
  ray_end
  exit "$1"
}

ray_worker() {
  ray_names=raylet
  until ray_answers "\${ray_hosts[0]}" "$ray_port"; do
    [ -z "$ray_told" ] && [ $SECONDS -lt $ray_limit ] || ray_failed "Ray of the first host does not answer at $RAY_ADDRESS"
    sleep 1
  done
  ray_start "--address=$RAY_ADDRESS" || ray_failed "Ray did not start on this host"
  ray_say "joins $RAY_ADDRESS; the command runs on the first host"
  while [ -z "$ray_told" ]; do
    # Bash would tell of a sleep that a stop ends.
    { sleep 1; } 2> /dev/null
    ray_lives || [ -n "$ray_told" ] || ray_lost "Ray ended on this host"
  done
  ray_end
  exit 0
}

ray_main() {
  local id other
  for ray_python in python python3; do "$ray_python" -c 'from importlib.metadata import version; version("ray")' 2> /dev/null && break; done
  command -v ray > /dev/null || ray_refused "there is no program ray in PATH: name ray[default] in the requirements of venv or conda, or in the image"
  IFS=, read -r -a ray_hosts <<< "$JOBCTL_RAY_HOSTS"
  ray_ip=\${ray_hosts[JOBCTL_RAY_HOST]}
  read -r id _ < <(cksum <<< "$JOBCTL_JOB_ID")
  ray_port=\${ray_base:-$((20000 + id % 3000 * 4))}
  # Two slots of a machine have no port in common, whatever their jobs are called.
  [ -z "\${JOBCTL_RAY_SLOT:-}" ] || ray_port=$((\${ray_base:-$((20000 + id % 46 * 256))} + JOBCTL_RAY_SLOT * 4))
  other=$(printf '%s\\n' "\${ray_hosts[@]}" | sort | uniq -d | head -n 1)
  [ -z "\${JOBCTL_RAY_SLOT:-}" ] || [ -z "$other" ] ||
    ray_refused "two hosts of this job are slots of one machine, $other, and Ray takes a host of each machine: ask for fewer hosts with more GPUs each"
  ray_limit=$((SECONDS + ray_join_seconds))
  ray_told=
  ray_parts=()
  trap 'ray_told=yes' TERM
  id=$(sha256sum <<< "$JOBCTL_JOB_ID")
  id=/tmp/jobctl-ray-\${id:0:12}
  ray_dir=$id-$JOBCTL_ATTEMPT
  # What earlier attempts left that were killed: their processes have been ended before this one began.
  for other in "$id"-*; do [ ! -O "$other" ] || [ "$other" = "$ray_dir" ] || rm -rf -- "$other"; done
  mkdir -m 700 "$ray_dir" 2> /dev/null || { [ -d "$ray_dir" ] && [ -O "$ray_dir" ] && [ ! -L "$ray_dir" ]; } ||
    ray_refused "cannot make $ray_dir, or it is somebody else's"
  export RAY_ADDRESS=\${ray_hosts[0]}:$ray_port RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=$JOBCTL_RUN_DIR/ray-token
  export RAY_USAGE_STATS_ENABLED=\${RAY_USAGE_STATS_ENABLED:-0}
  (umask 077; printf %s "$JOBCTL_RAY_TOKEN" > "$RAY_AUTH_TOKEN_PATH" && declare -p RAY_ADDRESS RAY_AUTH_MODE RAY_AUTH_TOKEN_PATH > "$JOBCTL_RUN_DIR/ray.env") ||
    ray_refused "cannot write in $JOBCTL_RUN_DIR"
  unset JOBCTL_RAY_TOKEN RAY_AUTH_TOKEN
  if [ "$JOBCTL_RAY_HOST" = 0 ]; then ray_head; else ray_worker; fi
}
`;
