import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DeedKind } from '../../oracle/evidence.js';
import type { Draws } from '../../random.js';
import { type DeedDo, lasting, seconds } from '../cloud-deeds.js';
import type { Stage } from '../stage.js';
import { operatorSays } from './operator.js';
import type { RackMachine } from './machine.js';

/** Puts a fault on a machine that a slice holds, and ends it after a while. */
async function onHeld(
  stage: Stage,
  draws: Draws,
  { text, kind = 'unwell', begin, end }: MachineFault,
): Promise<boolean> {
  const held = stage.heldMachines;
  if (held.length === 0) return false;
  const machine = draws.pick(held);
  const forMs = lasting(stage, draws);
  stage.note(kind, `${text} ${machine.name} for ${seconds(forMs)}`, { resource: machine.name });
  stage.endAfter(forMs, async () => end(machine));
  await begin(machine);
  return true;
}
interface MachineFault {
  readonly text: string;
  /** Absent: `unwell`. */
  readonly kind?: DeedKind;
  readonly begin: (machine: RackMachine) => void | Promise<void>;
  readonly end: (machine: RackMachine) => void | Promise<void>;
}

/** Time that a system takes to shut down before its power is cut. */
const SHUTDOWN_MS = 1_000;

/** Cuts the power of a machine, after an orderly shutdown or without one, and boots it after a while. */
async function restarted(stage: Stage, draws: Draws, machine: RackMachine, when: string): Promise<void> {
  const isOrderly = draws.chance(0.4);
  const forMs = lasting(stage, draws) / 2;
  const how = isOrderly ? 'is shut down' : 'loses its power';
  stage.note('power-cut', `${machine.name} ${how}${when}, for ${seconds(forMs)}`, { resource: machine.name });
  stage.endAfter(forMs + (isOrderly ? SHUTDOWN_MS : 0), () => machine.on());
  if (isOrderly) {
    machine.shutDown();
    await sleep(SHUTDOWN_MS);
  }
  await machine.off();
}

/** Steps of work at which a held machine loses its power. jobctl's own files show the steps; they only time the fault. */
const STEPS: Readonly<Record<string, (stage: Stage, machine: RackMachine) => boolean>> = {
  'as it is claimed': (_, { claim, home }) => claim !== undefined && runsIn(home).length === 0,
  'as its command is handed over': (_, { home }) =>
    runsIn(home).some((run) => existsSync(join(run, 'plan')) && !existsSync(join(run, 'begun'))),
  'as it is given back': (_, { claim, home }) =>
    claim !== undefined && existsSync(join(home, '.jobctl/machine/ended', claim)),
  'as its command has ended': ({ listener: { told } }, { name }) => {
    const last = told.at(-1);
    if (last?.kind !== 'END') return false;
    return told.some(({ kind, process, text }) => kind === 'HOST' && process === last.process && text === name);
  },
};
const STEP_LOOK_MS = 5;
const STEP_LOOKS = 300;

function runsIn(home: string): readonly string[] {
  const folder = join(home, '.jobctl/runs');
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return [];
  }
}

/** Cuts the power of a machine at one step. False: no machine came to that step within a moment. */
async function cutAtStep(stage: Stage, draws: Draws): Promise<boolean> {
  const step = draws.pick(Object.keys(STEPS));
  for (let looks = 0; looks < STEP_LOOKS; looks++) {
    const machines = stage.stack.rack?.machines.filter(({ isOn }) => isOn) ?? [];
    const machine = machines.find((each) => STEPS[step]?.(stage, each));
    if (machine !== undefined) return restarted(stage, draws, machine, ` ${step}`).then(() => true);
    await sleep(STEP_LOOK_MS);
  }
  return false;
}

/** Switches a machine off, or silences it, and lets an operator declare it off for good. It comes back all the same. */
async function forgotten(stage: Stage, draws: Draws): Promise<boolean> {
  const held = stage.heldMachines;
  if (held.length === 0) return false;
  const machine = draws.pick(held);
  const { name } = machine;
  const isOff = draws.chance(0.5);
  const forMs = 2 * lasting(stage, draws);
  stage.note(isOff ? 'power-cut' : 'unwell', `${name} is ${isOff ? 'off' : 'silent'} for ${seconds(forMs)}`, {
    resource: name,
  });
  stage.endAfter(forMs, async () => (isOff ? machine.on() : machine.thaw()));
  if (isOff) await machine.off();
  else machine.silence();
  stage.note('forgot', `and an operator says that ${name} is off`, { resource: name });
  await operatorSays(stage, 'forget', [name]);
  return true;
}

/** Faults of the pool's own machines, and their operator's commands. */
export const MACHINE_DEEDS: Readonly<Record<string, DeedDo>> = {
  'SSH of a machine is refused': (stage, draws) =>
    onHeld(stage, draws, {
      text: 'sshd has ended, with all its connections, on',
      begin: (machine) => machine.refuseSsh(),
      end: (machine) => machine.acceptSsh(),
    }),
  'a machine is silent': (stage, draws) =>
    onHeld(stage, draws, {
      text: 'nothing comes through SSH, and no connection ends, on',
      begin: (machine) => machine.silence(),
      end: (machine) => machine.thaw(),
    }),
  'a machine is frozen': (stage, draws) =>
    onHeld(stage, draws, {
      text: 'all processes stand still on',
      begin: (machine) => machine.freeze(),
      end: (machine) => machine.thaw(),
    }),
  'the disk of a machine is full': (stage, draws) =>
    onHeld(stage, draws, {
      ...{ text: 'the disk is full on', kind: 'full-disk' },
      begin: (machine) => machine.fillDisk(),
      end: (machine) => machine.freeDisk(),
    }),
  'processes of a machine are killed': async (stage, draws) => {
    const held = stage.heldMachines;
    if (held.length === 0) return false;
    const machine = draws.pick(held);
    stage.note('killed-processes', `all processes of ${machine.name} are killed`, { resource: machine.name });
    machine.killProcesses();
    return true;
  },
  'a machine is restarted': async (stage, draws) => {
    const held = stage.heldMachines;
    if (held.length === 0) return false;
    await restarted(stage, draws, draws.pick(held), '');
    return true;
  },
  'a machine loses its power at a step': cutAtStep,
  'an accelerator is in use': async (stage, draws) => {
    const machines =
      stage.stack.rack?.machines.filter(({ isOn, accelerators }) => isOn && Object.keys(accelerators).length > 0) ?? [];
    if (machines.length === 0) return false;
    const machine = draws.pick(machines);
    const forMs = lasting(stage, draws);
    stage.note('unwell', `somebody else uses the accelerator of ${machine.name} for ${seconds(forMs)}`, {
      resource: machine.name,
    });
    await machine.occupy(forMs);
    return true;
  },
  'a machine is drained': async (stage, draws) => {
    const held = stage.heldMachines;
    if (held.length === 0) return false;
    const { name } = draws.pick(held);
    const forMs = lasting(stage, draws);
    stage.note('drained', `an operator drains ${name} for ${seconds(forMs)}`, { resource: name });
    stage.endAfter(forMs, async () => void (await operatorSays(stage, 'undrain', [name])));
    await operatorSays(stage, 'drain', [name]);
    return true;
  },
  'a machine is forgotten': forgotten,
};
