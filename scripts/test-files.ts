import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Prints the test files of a suite, for mocha, which gives them to its processes in this order: the files that take longest come
 * first, so that none of them runs alone at the end.
 *   tsx scripts/test-files.ts short      every file that is neither under long/ nor named .live.test.ts: `npm test`
 *   tsx scripts/test-files.ts live       stacks that live through something, and all of .live.test.ts: a step of .ci/run
 */
interface Suite {
  readonly isMeant: (file: string) => boolean;
  readonly first: readonly string[];
}

/** Takes minutes of real time, or a program that README's two commands do not bring: gcloud, zsh, fish, OpenSSH's server. */
const isLive = (file: string): boolean => file.endsWith('.live.test.ts');

const SHORT: Suite = {
  isMeant: (file) => !file.includes('test/long/') && !isLive(file),
  first: [
    'test/end-to-end/job-life.test.ts',
    'test/end-to-end/ending.test.ts',
    'test/workflows/quota.test.ts',
    'test/dev/stack.test.ts',
    'test/end-to-end/pool-file.test.ts',
  ],
};

/**
 * In .ci/long: they need PostgreSQL, a Temporal server that Go builds, a build of an earlier commit, Python's packages, or minutes of
 * processors for what a cheaper test shows from nearer by.
 */
const NOT_LIVE =
  /\/(jobs\/(giving-back|job-keys|rehearse|reset)|server\/(on-postgres|four-ways)|security\/(walk|against-19b9c1e))\.test\.ts$/;
const LIVE: Suite = {
  isMeant: (file) =>
    isLive(file) ||
    (/^test\/long\/(jobs\/.+|server\/.+|security\/.+|contract-examples|web-ui|quota-revoked|quota-verbs)\.test\.ts$/.test(
      file,
    ) &&
      !NOT_LIVE.test(file)),
  first: [
    'test/long/web-ui.test.ts',
    'test/long/server/submit.test.ts',
    'test/long/jobs/crash.test.ts',
    'test/long/jobs/terminate-reset.test.ts',
    'test/end-to-end/job-life.live.test.ts',
    'test/end-to-end/remote-build.live.test.ts',
    'test/long/jobs/lost-worker.test.ts',
    'test/long/contract-examples.test.ts',
  ],
};

function filesOf({ isMeant, first }: Suite): readonly string[] {
  const files = ['test', 'rehearsal/test']
    .flatMap((folder) => readdirSync(folder, { encoding: 'utf8', recursive: true }).map((name) => join(folder, name)))
    .filter((file) => file.endsWith('.test.ts') && isMeant(file));
  const missing = first.filter((file) => !files.includes(file));
  if (missing.length > 0) throw new Error(`scripts/test-files.ts names what is not there: ${missing.join(', ')}`);
  return [...first, ...files.filter((file) => !first.includes(file)).sort()];
}

const [name] = process.argv.slice(2);
if (name !== 'short' && name !== 'live') throw new Error(`the suite '${name ?? ''}' is none: short or live`);
console.log(filesOf(name === 'short' ? SHORT : LIVE).join(' '));
