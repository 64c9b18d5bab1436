import { ApplicationFailure } from '@temporalio/common';
import { messageOf, FailureType } from '../domain/errors.js';
import type { Examined, MachineLook, MachinesOperator } from '../cloud/machines/port.js';
import type { ExaminedRow, MachineRow, MachinesActivities, MachinesInput } from '../contract/machines.js';
import { placeOf } from '../domain/machine-kinds/machines/section.js';
import type { OwnMachine } from '../domain/machine-kinds/machines/words.js';
import { formatProblems } from '../domain/problem.js';
import { shellWords } from '../domain/shell-quote.js';
import type { ActivityDependencies } from './dependencies.js';
import { translated } from './failures.js';
import { machinesOfPool } from './pool-source.js';

type Outside = Pick<ActivityDependencies, 'pools' | 'quota' | 'machinesOperator'>;

export function machinesActivities({ pools, quota, machinesOperator }: Outside): MachinesActivities {
  return {
    operateMachines: async (input) => {
      const { pool, verb } = input;
      if (verb !== 'ls' && verb !== 'examine') refuseUnlessAdmin(await quota.inForce(pool), input);
      const nowhere = await pools.unknown(pool).catch(refused);
      if (nowhere !== undefined) throw notFound(formatProblems([{ ...nowhere, path: [] }]));
      const all = await pools.load(pool).then(machinesOfPool).catch(refused);
      const chosen = chosenOf(all, input);
      return translated(async () => {
        if (verb === 'examine')
          return { machines: [], examined: (await machinesOperator.examine(pool, chosen)).map(examinedRow) };
        await operate(machinesOperator, input, chosen, all);
        return { machines: (await machinesOperator.look(pool, chosen)).map(rowOf) };
      });
    },
  };
}

function operate(
  operator: MachinesOperator,
  { verb, pool, by, reason, claim }: MachinesInput,
  chosen: readonly OwnMachine[],
  all: readonly OwnMachine[],
) {
  switch (verb) {
    case 'ls':
    case 'examine':
      return Promise.resolve();
    case 'check':
      return operator.check(pool, chosen, all);
    case 'drain':
      return operator.drain(pool, chosen, by, reason);
    case 'undrain':
      return operator.undrain(pool, chosen);
    case 'forget':
      return operator.forget(pool, chosen, by);
    case 'release':
      return release(operator, pool, chosen, claim);
  }
}

async function release(
  operator: MachinesOperator,
  pool: string,
  [machine, ...others]: readonly OwnMachine[],
  claim: string | undefined,
): Promise<void> {
  if (machine === undefined || others.length > 0 || claim === undefined)
    throw refusal('release: takes one machine, and --claim with the claim that jobctl machines ls shows of it');
  const why = await operator.release(pool, machine, claim);
  if (why !== undefined) throw refusal(`nothing was released: ${machine.name} ${why}`);
}

const notFound = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: FailureType.NotFound, nonRetryable: true, message });

function refusal(message: string): ApplicationFailure {
  return ApplicationFailure.create({ type: FailureType.Refused, nonRetryable: true, message });
}

const refused = (error: unknown): never => {
  throw refusal(messageOf(error));
};

function refuseUnlessAdmin(
  { config }: Awaited<ReturnType<Outside['quota']['inForce']>>,
  { pool, by, verb }: MachinesInput,
): void {
  const admins = config?.kind === 'limited' ? (config.rules?.admins ?? []) : [];
  if (admins.length === 0 || admins.includes(by)) return;
  throw refusal(
    `'${by}' is no admin of pool ${pool} and may not ${verb} its machines; its admins are ${admins.join(', ')}`,
  );
}

function chosenOf(all: readonly OwnMachine[], { pool, verb, names }: MachinesInput): readonly OwnMachine[] {
  if (names.length === 0) {
    if (verb === 'ls' || verb === 'check' || verb === 'examine') return all;
    throw refusal(`${verb}: which machine? Pool ${pool} has ${nameList(all)}`);
  }
  const unknown = names.filter((name) => !all.some((machine) => machine.name === name));
  if (unknown.length > 0)
    throw notFound(
      `pool ${pool} has no machine ${unknown.join(', ')}; it has ${nameList(all)}${slotsHint(all, { pool, verb, names })}`,
    );
  return all.filter(({ name }) => names.includes(name));
}

/** The line with all slots of a machine that was named as a whole, ready to paste; `release` takes one machine only. */
function slotsHint(
  all: readonly OwnMachine[],
  { pool, verb, names }: Pick<MachinesInput, 'pool' | 'verb' | 'names'>,
): string {
  const slotsOf = (name: string): readonly string[] =>
    all.filter((each) => each.slot && each.name === `${name}.${each.slot.number}`).map((each) => each.name);
  const slots = names.map((name) => (all.some((each) => each.name === name) ? [name] : slotsOf(name)));
  if (verb === 'release' || slots.some((each) => each.length === 0)) return '';
  const words = shellWords([
    'jobctl',
    'machines',
    verb,
    ...slots.flat(),
    ...(pool === 'default' ? [] : ['--pool', pool]),
  ]);
  return `\n  a machine with slots is named by these: ${words}`;
}

const nameList = (all: readonly OwnMachine[]): string =>
  all.length === 0 ? 'none: [[machines]] of its pool file names them' : all.map(({ name }) => name).join(', ');

const examinedRow = ({ machine: { name, slot }, findings }: Examined): ExaminedRow => ({
  name: slot === undefined ? name : name.replace(/\.\d+$/, ''),
  findings,
});

function rowOf({ machine, record, slice, seen }: MachineLook): MachineRow {
  const { name, user, accelerators, isRehearsed } = machine;
  const { aside, drained, lastProblem, warning, model, ended } = record;
  const row = {
    name,
    address: placeOf(machine),
    user,
    accelerators,
    ...(slice && { slice: slice.name, job: slice.job }),
    ...(isRehearsed && { isRehearsed }),
    ...(warning !== undefined && { warning }),
    ...(model !== undefined && { model }),
    ...(ended && { ended: `ended after job ${ended.job}, ${new Date(ended.at).toISOString()}: ${ended.text}` }),
  };
  if (seen.kind === 'silent')
    return { ...row, state: 'silent', problem: aside ? `put aside: ${aside.reason}` : seen.message };
  if (seen.kind === 'foreign') return { ...row, state: 'foreign', problem: seen.message };
  if (drained !== undefined) {
    const problem = `by ${drained.by}${drained.reason === undefined ? '' : `: ${drained.reason}`}`;
    return { ...row, state: 'drained', problem, since: drained.at };
  }
  if (aside !== undefined) return { ...row, state: 'aside', problem: aside.reason, since: aside.at };
  const found = lastProblem && `when it was inspected, ${new Date(lastProblem.at).toISOString()}: ${lastProblem.text}`;
  const problem = found === undefined ? {} : { problem: found };
  return { ...row, state: seen.kind, ...problem };
}
