import type { Decisions, Row } from '../domain/recovery/decisions.js';
import { FACTS, type Question } from '../domain/recovery/facts.js';
import { ROWS } from '../domain/recovery/decide.js';

const HEAD = `# How a job recovers

This page answers, for users and operators: something happened to a job, what does it do next, and whose budget pays for it?
It is written by \`npx tsx scripts/write-recovery.ts\` from \`domain/recovery/decide.ts\`, which is the code that decides; each row is a test.

Read a row as: if all of these facts hold, then this is done. A fact that a row does not name may have any value. Exactly one row holds for every combination of facts. The budgets are \`retries.preemption\`, \`retries.infrastructure\`, \`retries.task\` and \`retries.requested\` of the job file; n retries are n more tries.
A cancel is not in the tables: it stops the command with its grace and ends the job as cancelled, unless the outcome was known before.
`;

/** Heading and introduction of each question's table. */
const TITLES: { readonly [Q in Question]: readonly [title: string, text: string] } = {
  'slice seen': [
    'A worker looks at a slice',
    'A worker reads the slices of its attempts from a listing of their zone. Only a direct look reports a loss, and an unknown state is never a loss. The slices of an `atomic` job are one request: each is looked at as a node of it, and a loss of one costs all of them.\n\nThe commands on the others are told to end, and have 10 seconds before their request is deleted with all its nodes; then all slices are asked for again as one request, of the next generation ([ADR 0054](adr/0054-one-request-for-all-slices.md)).',
  ],
  'host silent': [
    'A host does not answer',
    'A host that does not answer is shown by `list`, `why` and the details of its job within two minutes. While its command runs, a host writes a sign of life into the store every two minutes ([ADR 0046](adr/0046-a-dead-host.md)), if it may; one that was not renewed for ten minutes is stale. A worker looks at it once a minute, only while the host does not answer. `others`: two other hosts on the same route, of whichever job, are asked. `timeouts.unreachable` is 6 h without that key.',
  ],
  'command ended': [
    'The command ends on its hosts',
    'The first host that failed, by its own clock, counts; the other hosts are stopped.\n\n- **A failure**: an exit of the command may be the first sign that its slice is taken away, so slices are looked at before a failure is reported: at once, or for two minutes if a shutdown may have ended the command. The two minutes count from the end of the command, whichever worker counts them. Machines of your own, which no provider takes back, are looked at once ([ADR 0102](adr/0102-an-end-that-was-heard.md)). An API that does not answer for those two minutes counts as slices that are there ([ADR 0040](adr/0040-exit-0-is-a-claim.md)).\n- **An exit code 0** is believed at once if each host says that it was up as the command ended: its system ran, the runner itself got no SIGTERM, and its metadata server said that it is not preempted. `code 0, unwitnessed`: a host could not say.\n- **Hosts that are gone with their slice** are believed by the exit records that they stored, if each of them stored one ([ADR 0058](adr/0058-the-host-stores-its-exit-record.md)) that bears the proof which its host got with its run ([ADR 0091](adr/0091-an-exit-record-bears-a-proof.md)). A run is lost only if the store has no such record of it either.',
  ],
  'worker failed': [
    'A worker fails',
    'The command lives under its on-host runner and does not notice. A sixth error in a row counts as too many; a call that worked for 10 minutes begins a new row. The pause doubles from 2 s. A store that refuses or does not answer is no error of a worker: it is waited for. A text of the job that no shell can hold (a NUL) fails the job, without a retry.',
  ],
  'set-up interrupted': [
    'A set-up has to end early',
    '`by`: the pool revoked the lease, a person asked, or `timeouts.setup` is over. `end`: how the set-up ended after it was told to.',
  ],
  'command interrupted': [
    'A command has to end early',
    '`by`: the pool revoked the lease, a person asked, `timeouts.run` or `timeouts.no_output` is over, or its slices are about to end as they were bought (flex-start). `save` sends the notice and SIGTERM, waits for the grace, then sends SIGKILL. `end`: how the command ended after that.',
  ],
  'step due': [
    'The pool or a person wants something',
    'Looked at between two steps of a job. A command that may run is stopped first, on slices that are all ready.',
  ],
  'not ready': [
    'A job waits for its lease or its slices',
    "A refusal of the cloud reaches as far as its scope ([ADR 0042](adr/0042-refusals-have-a-scope.md)): capacity and quota are the zone's, rights and billing the installation's, a race or an internal error is a moment's. A type that a zone does not offer is refused there for good. A refusal in words that jobctl does not know is `refused, unknown`.\n\nAfter a round through all zones, and before the same zone is asked again, the job waits; the wait doubles from 15 s to 10 minutes, and `why`, `list` and `jobctl_slice_refusals_total` say for what.\n\n`zones`: those of the job that have not refused for good since its slices were last all ready. `refusals`: many are three in a row in one zone.",
  ],
  'attempt ended': [
    'An attempt ends',
    '- `unwatched`: its worker is gone, or handed it over.\n- `loop`: the job has `loop`, and starts again or gives up after ten quick ends in a row.\n- `machine at fault`: the command ended by SIGSEGV, SIGBUS, SIGABRT or SIGILL, or after a launcher\'s report of one (torchrun, DeepSpeed, bash, mpirun), or after a text of an accelerator that cannot be used ("TPU initialization failed"), on the same machine as the time before; or after a text of a damaged one ("uncorrectable ECC error encountered", "uncorrectable NVLink error", "GPU has fallen off the bus"). A program that fails so on the machine that replaced it has failed by itself.',
  ],
};

/** Returns the text of docs/recovery.md, before it is formatted. */
export function recoveryPage(): string {
  return [HEAD, ...(Object.keys(FACTS) as Question[]).map(section)].join('\n');
}

function section<Q extends Question>(question: Q): string {
  const [title, text] = TITLES[question];
  const facts = Object.entries<readonly string[]>(FACTS[question]).map(
    ([name, values]) => `- \`${name}\`: ${values.join(' · ')}`,
  );
  const rows = ROWS[question].map(
    (row) => `| ${row.name} | ${whenText(row)} | ${doText(row.decision)} | ${accountText(row.decision)} |`,
  );
  return [
    `## ${title}\n`,
    `${text}\n`,
    `Facts of \`${question}\`:\n`,
    ...facts,
    '\n| row | if | then | account |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

function whenText<Q extends Question>({ when }: Row<Q>): string {
  return Object.entries(when as Readonly<Record<string, string | readonly string[]>>)
    .map(([name, values]) => `\`${name}\`: ${typeof values === 'string' ? values : values.join(' or ')}`)
    .join('; ');
}

function doText(decision: Decisions[Question]): string {
  switch (decision.do) {
    case 'report loss':
      return 'cause' in decision
        ? `report the slice as ${decision.cause === 'preempted' ? 'preempted' : 'failed'}`
        : decision.do;
    case 'ask again':
      return 'ask again in the same zone, after a pause';
    case 'look at slices':
      return decision.patience === 'none' ? 'look at all slices once' : 'look at all slices for two minutes';
    case 'other worker':
      return decision.pause ? 'wait, then go on with another worker' : 'go on with another worker';
    case 'give back':
      return `give slices and lease back, then ${decision.next}`;
    case 'retry':
      return decision.replace === 'nothing' ? 'new attempt' : `replace ${decision.replace}, then new attempt`;
    case 'replace':
      return 'replace the slices that end, then new attempt';
    case 'fail':
      return 'fail';
    default:
      return decision.do;
  }
}

function accountText(decision: Decisions[Question]): string {
  if (decision.do === 'retry') return `${decision.budget}, one retry`;
  if (decision.do !== 'fail') return '';
  return decision.spent ? `${decision.by}, spent` : decision.by;
}
