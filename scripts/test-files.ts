import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Prints the test files of one or more suites, for mocha, which gives them to its processes in this order. Files that take
 * longest come first, so that none of them runs alone at the end. Files that start many processes come next, and files that fill
 * the memory last: to start a process, Node copies its own page tables, which takes 1 ms of a processor at 50 MB and 36 ms at 1
 * GB. Files that wait most of their time are spread over the others: six of them at once leave the processors idle.
 *   tsx scripts/test-files.ts short      every file that is neither under long/ nor named .live.test.ts: `npm test`
 *   tsx scripts/test-files.ts live       a step of .ci/run: what it alone can judge, once for each road (docs/adr/0134)
 *   tsx scripts/test-files.ts histories  those that record every kind of history: `npm run record:histories`
 *   tsx scripts/test-files.ts live-more  a step of .ci/long: the other stacks that live through something, and .live.test.ts
 */
interface Suite {
  readonly isMeant: (file: string) => boolean;
  readonly first: readonly string[];
  /** Beginnings of the names of files that start many processes; `filling`: of those that fill the memory. */
  readonly forking?: readonly string[];
  readonly filling?: readonly string[];
  /** Beginnings of the names of files that mostly wait, the longest first. */
  readonly waiting?: readonly string[];
}

/** Tests that take minutes, or need a program that README's commands do not install: gcloud, zsh, fish, OpenSSH's server. */
const isLive = (file: string): boolean => file.endsWith('.live.test.ts');

const SHORT: Suite = {
  isMeant: (file) => !file.includes('test/long/') && !isLive(file),
  first: ['test/end-to-end/job-life.test.ts', 'test/workflows/pool-races.test.ts'],
  forking: [
    ...['test/cli/building/', 'test/cli/submit-by-flags', 'test/cli/bundle-entries'],
    ...['test/hosts/', 'rehearsal/test/', 'test/login/', 'test/end-to-end/', 'test/dev/'],
  ],
  filling: ['test/domain/', 'test/quota/', 'test/architecture/workflow-bundle', 'test/server/worst-input'],
  waiting: [
    ...['test/hosts/pod-agent', 'test/worker/stranger', 'test/client/schedules', 'test/client/job-board'],
    ...['test/temporal/refusals', 'test/activities/'],
    ...['test/cli/contexts', 'test/cli/bucket-regions', 'test/cli/doctor-server', 'rehearsal/test/vm.test'],
  ],
};

/**
 * Tests of .ci/long alone. They need PostgreSQL, a Temporal server that Go builds, a build of an earlier commit, Python's
 * packages, or minutes of processors for something that a cheaper test shows more directly. `.ci/run` has to end within 20
 * minutes.
 */
const NOT_LIVE =
  /\/(jobs\/(giving-back|job-keys|rehearse|reset|atomic|attempt-end|forged-slices|garbage|hooks|parked|provider-word|restart-on|true-end)|server\/(on-postgres|four-ways|access|command-line|host-access|submit))\.test\.ts$/;
const livesThrough = (file: string): boolean =>
  isLive(file) ||
  (/^test\/long\/(jobs\/.+|server\/.+|web-ui|quota-revoked|quota-verbs)\.test\.ts$/.test(file) && !NOT_LIVE.test(file));

/** Tests that record every kind of history for the replay gate (test/replay/kinds.ts), together with job-life.test.ts. */
const HISTORIES: readonly string[] = [
  ...['test/end-to-end/job-life.live.test.ts', 'test/long/jobs/terminate-reset.test.ts'],
  ...[
    'test/long/jobs/lost-worker.test.ts',
    'test/end-to-end/remote-build.live.test.ts',
    'test/long/quota-verbs.test.ts',
  ],
  ...['test/long/jobs/keep-loop.test.ts', 'test/long/jobs/outages.test.ts'],
  'test/end-to-end/quota-borrow.live.test.ts',
];
/** Tests of `.ci/run`, grouped by claims that no cheaper test makes. In each group the most expensive test comes first. */
const ROADS: readonly string[] = [
  // Every kind of machines.
  'test/conformance/machines.live.test.ts',
  ...HISTORIES,
  // The local stack, killed and brought up again; a pool's book under load; JobMan's files; a service of another team.
  ...['test/dev/stack.live.test.ts', 'test/workflows/quota-book.live.test.ts'],
  ...['test/long/jobs/jobman.test.ts', 'test/contract/services.live.test.ts'],
  // Programs that nobody here wrote: gcloud, OpenSSH, servers of S3, shells, Ray, npm's advisories and its tarballs.
  ...['rehearsal/test/gcloud.live.test.ts', 'rehearsal/test/store-gcloud.live.test.ts'],
  'rehearsal/test/gcloud-login.live.test.ts',
  ...['test/hosts/openssh.live.test.ts', 'test/hosts/job-key-login.live.test.ts', 'test/hosts/ray-run.live.test.ts'],
  ...['test/hosts/stacks.live.test.ts', 'test/cloud/s3-store.live.test.ts', 'test/cloud/s3-faults.live.test.ts'],
  ...['test/cli/completion-shells.live.test.ts', 'test/architecture/tarballs.live.test.ts'],
  ...['test/architecture/audit.live.test.ts', 'test/architecture/sbom.live.test.ts'],
  // The metadata server and the sandbox of job files, which hold against a stranger.
  ...['rehearsal/test/vm-metadata.live.test.ts', 'test/domain/job-file-sandbox.live.test.ts'],
  // One claim for each kind of host, answer, verb or file of git. Each file takes seconds of a processor, or waits for a minute.
  ...['test/cli/against-temporal.live.test.ts', 'test/cloud/permanent-answers.live.test.ts'],
  ...['test/hosts/left-by-kind.live.test.ts', 'test/cloud/rehearsed-kubernetes.live.test.ts'],
  ...['test/hosts/rehearsed-pods.live.test.ts', 'test/cli/foreign-repository.live.test.ts'],
];
const LIVE: Suite = { isMeant: (file) => ROADS.includes(file), first: ROADS };
const LIVE_MORE: Suite = {
  isMeant: (file) => livesThrough(file) && !ROADS.includes(file),
  first: ['test/long/web-ui.test.ts', 'test/workflows/zone-race.live.test.ts'],
};
const RECORDED: Suite = { isMeant: (file) => HISTORIES.includes(file) || file === SHORT.first[0], first: HISTORIES };
const SUITES: Readonly<Record<string, Suite>> = {
  short: SHORT,
  live: LIVE,
  'live-more': LIVE_MORE,
  histories: RECORDED,
};

function filesOf({ isMeant, first, forking = [], filling = [], waiting = [] }: Suite): readonly string[] {
  const files = ['test', 'rehearsal/test']
    .flatMap((folder) => readdirSync(folder, { encoding: 'utf8', recursive: true }).map((name) => join(folder, name)))
    .filter((file) => file.endsWith('.test.ts') && isMeant(file));
  const missing = first.filter((file) => !files.includes(file));
  if (missing.length > 0) throw new Error(`scripts/test-files.ts names what is not there: ${missing.join(', ')}`);
  const rank = (file: string): number => {
    const at = forking.findIndex((start) => file.startsWith(start));
    if (at >= 0) return at;
    return filling.some((start) => file.startsWith(start)) ? forking.length + 1 : forking.length;
  };
  const waits = (file: string): number => waiting.findIndex((start) => file.startsWith(start));
  const others = files.filter((file) => !first.includes(file)).sort();
  const busy = others.filter((file) => waits(file) < 0).toSorted((a, b) => rank(a) - rank(b));
  const idle = others.filter((file) => waits(file) >= 0).toSorted((a, b) => waits(a) - waits(b));
  return [...first, ...spread(idle, busy)];
}

/** Part of a suite over which its waiting files are spread. */
const SPREAD_OVER = 2 / 3;

/** The busy ones in their order, and an idle one after each so many of them: the last has a third of the busy ones behind it. */
function spread(idle: readonly string[], busy: readonly string[]): readonly string[] {
  const each = Math.max(1, Math.floor((busy.length * SPREAD_OVER) / (idle.length + 1)));
  const rest = [...idle];
  const mixed = busy.flatMap((file, index) => [file, ...(index % each === 0 ? rest.splice(0, 1) : [])]);
  return [...mixed, ...rest];
}

function suiteOf(name: string): Suite {
  const suite = SUITES[name];
  if (suite === undefined) throw new Error(`the suite '${name}' is none: ${Object.keys(SUITES).join(', ')}`);
  return suite;
}

const [first = '', ...others] = process.argv.slice(2);
console.log([first, ...others].flatMap((name) => filesOf(suiteOf(name))).join(' '));
