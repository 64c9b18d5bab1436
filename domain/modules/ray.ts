import { z } from 'zod';
import { duration, flag, given, scalarText, secondsOf, section, wholeNumber } from '../job-file/fields.js';
import type { Report } from '../job-file/report.js';
import { shellQuote } from '../shell-quote.js';
import { fingerprintOf, setUpModule } from './module.js';

/** Ray over all hosts of a job. Each setting applies once per host (docs/ray.md, docs/adr/0068). */
export interface RaySpec {
  /** Version that each host must have. Absent: `OLDEST_RAY` or later. */
  readonly version?: string;
  /** First of the ports that jobctl chooses on the first host. Absent: derived from the job's id. */
  readonly portBase?: number;
  readonly objectStoreBytes?: number;
  readonly cpus?: number;
  /** Ray's own resources by name, as `@ray.remote(resources=..)` asks for them. */
  readonly resources?: Readonly<Record<string, number>>;
  /** Absent: on if `ray[default]` is installed. */
  readonly dashboard?: boolean;
  /** Seconds for which the first host waits for the others. */
  readonly joinSeconds: number;
}

/** The first version with token authentication (docs.ray.io, "Ray token authentication", read 2026-11-23). */
const OLDEST_RAY = '2.52.0';

/**
 * Default time for the head and all workers to join. On two cores a head is ready after about ten seconds. An image to pull, or
 * a slow disk, takes longer.
 */
const DEFAULT_JOIN_SECONDS = 300;
const SHORTEST_JOIN_SECONDS = 10;

/** Ports on the first host: of Ray itself, of its dashboard, of Ray Client. The kernel chooses all others. */
const PORTS = 3;

const SIZE = /^(\d+)(Ki|Mi|Gi|Ti|K|M|G|T)?$/;
const SIZE_ERROR = "bytes, or a size such as '512Mi' or '10Gi'";

const form = () =>
  section({
    version: scalarText().nullish().describe('The version of Ray that the hosts have to have; none is installed.'),
    port_base: wholeNumber(1024, 65_535 - PORTS + 1)
      .nullish()
      .describe(`The first of ${PORTS} ports on the first host.`),
    object_store_memory: z
      .union([wholeNumber(1, Number.MAX_SAFE_INTEGER), z.string().regex(SIZE, { error: SIZE_ERROR })], {
        error: SIZE_ERROR,
      })
      .nullish()
      .describe('Of each host; 30 % of its memory without it.'),
    num_cpus: wholeNumber(0, 100_000).nullish().describe('CPUs of each host for tasks; all of them without it.'),
    resources: z
      .record(z.string(), z.number({ error: 'a number' }).nonnegative({ error: 'a number of 0 or more' }), {
        error: 'a section of NAME: number',
      })
      .nullish()
      .describe('Resources of each host, for @ray.remote(resources=..).'),
    dashboard: flag().nullish().describe('Whether Ray starts its dashboard; where ray[default] is, without it.'),
    join_timeout: duration().nullish().describe('How long the first host waits for the others; 5m without it.'),
  });

/** Raised when the check changes so that a host that passed an older one may not pass. */
const FORMAT = 1;

export const ray = setUpModule({
  name: 'ray',
  // Runs as jobctl's last module: the environment, the bundle or the script may install Ray.
  kind: 'custom',
  form,
  description: 'Ray on all hosts: the command runs on the first one, with RAY_ADDRESS.',
  example: 'such as ray: {}',
  keptAsWritten: ['version'],
  resolve: (section, { report, modules, environments }) => {
    const container = environments.find(({ kind }) => kind === 'container');
    if (container !== undefined) {
      const hint = 'install it with venv or conda; on Kubernetes it may be in kubernetes.image';
      report.problem(['ray'], section, `runs on the hosts, not in the container of ${container.name}`, hint);
    }
    if (!modules.includes('command')) {
      report.problem(
        ['ray'],
        section,
        'runs only as long as a command, and this job has none',
        'write command: {run: ..}',
      );
    }
    return resolveRay(section, report);
  },
  plan: ({ version }, sources) => {
    const check = checkScript(sources.environment?.enter, version);
    return {
      name: 'ray',
      fingerprint: fingerprintOf(sources, FORMAT, version ?? ''),
      check,
      steps: [{ name: 'version', script: check }],
    };
  },
});

function resolveRay(section: z.infer<ReturnType<typeof form>>, report: Report): RaySpec {
  const { port_base, object_store_memory, num_cpus, resources, dashboard, join_timeout } = section;
  for (const name of Object.keys(resources ?? {})) checkResource(name, report);
  const joinSeconds = secondsOf(given(join_timeout) ?? DEFAULT_JOIN_SECONDS);
  if (joinSeconds < SHORTEST_JOIN_SECONDS)
    report.wrong(['ray', 'join_timeout'], join_timeout, 'too short', `${SHORTEST_JOIN_SECONDS}s or more`);
  const all: { readonly [Key in keyof RaySpec]: RaySpec[Key] | null | undefined } = {
    version: resolveVersion(section.version, report),
    portBase: port_base,
    objectStoreBytes: given(object_store_memory) === undefined ? undefined : bytesOf(object_store_memory ?? 0),
    cpus: num_cpus,
    resources,
    dashboard,
    joinSeconds,
  };
  return Object.fromEntries(
    Object.entries(all).filter(([, value]) => given(value) !== undefined),
  ) as unknown as RaySpec;
}

function resolveVersion(value: string | number | boolean | null | undefined, report: Report): string | undefined {
  if (value === null || value === undefined) return undefined;
  const version = String(value);
  const path = ['ray', 'version'];
  if (!/^\d+\.\d+\.\d+$/.test(version))
    report.wrong(path, value, 'no version of Ray', 'all three numbers, such as 2.60.0');
  else if (isOlder(version, OLDEST_RAY)) report.wrong(path, value, 'too old', TOO_OLD);
  return version;
}

const TOO_OLD = `Ray ${OLDEST_RAY} is the first that asks for a token; before, whoever reaches its port runs code`;

function isOlder(version: string, than: string): boolean {
  const [one, other] = [version, than].map((text) => text.split('.').map(Number));
  const at = one?.findIndex((number, place) => number !== other?.[place]) ?? -1;
  return at !== -1 && (one?.[at] ?? 0) < (other?.[at] ?? 0);
}

/** Ray has these itself, and refuses them among its resources (ray start, `--resources`). */
const OWN_KEYS: Readonly<Record<string, string>> = {
  CPU: 'write num_cpus',
  GPU: 'Ray counts the GPUs of each host itself',
  memory: 'Ray reads the memory of each host itself',
  object_store_memory: 'write ray.object_store_memory',
};

function checkResource(name: string, report: Report): void {
  const hint = OWN_KEYS[name];
  if (hint !== undefined) report.problem(['ray', 'resources', name], name, "is a resource of Ray's own", hint);
}

const FACTORS: Readonly<Record<string, number>> = {
  ...{ K: 1000, M: 1000 ** 2, G: 1000 ** 3, T: 1000 ** 4 },
  ...{ Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3, Ti: 1024 ** 4 },
};

function bytesOf(size: string | number): number {
  const [, digits = '0', unit = ''] = SIZE.exec(String(size)) ?? [];
  return Number(digits) * (FACTORS[unit] ?? 1);
}

// Plan ---------------------------------------------------------------------------------------------------------------

/** Checks the program `ray` in PATH, in the environment of the command. set-up-record.ts recognizes its messages. */
function checkScript(enter: string | undefined, version: string | undefined): string {
  const wanted = shellQuote(version ?? '');
  return `${enter === undefined ? '' : `${enter} || exit 1\n`}wanted=${wanted} oldest=${OLDEST_RAY} found=
for python in python python3; do
  found=$("$python" -c 'from importlib.metadata import version; print(version("ray"))' 2> /dev/null) && break
done
if [ -z "$found" ] || ! command -v ray > /dev/null; then
  echo "ray: this host has no Ray${enter === undefined ? '' : " in the job's environment"}: name ray[default] in the requirements of venv or conda, or in the image" >&2
  exit 1
fi
if [ -n "$wanted" ] && [ "$found" != "$wanted" ]; then
  echo "ray: this host has Ray $found, and ray.version is $wanted" >&2
  exit 1
fi
if [ "$(printf '%s\\n' "$oldest" "$found" | sort -V | head -n 1)" != "$oldest" ]; then
  echo "ray: this host has Ray $found, which is too old: $oldest is the first that asks for a token" >&2
  exit 1
fi
if ! said=$("$python" -c 'import ray' 2>&1); then
  printf '%s\\n' "$said" >&2
  echo "ray: this host has Ray $found, and $python cannot import it" >&2
  exit 1
fi
echo "ray: $found, $(command -v ray)"
`;
}
