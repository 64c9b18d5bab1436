import type { Count } from '../../../chaos/oracle/verdict.js';
import type { RecordSet } from '../record-set.js';
import { type Forge, saying } from './scenes.js';

/** As `PLANTED` and `RIGHT`, of the journal of Compute Engine. */

const SLICE = 'jc-a-g1';
const pathOf = (name: string, zone = 'z'): string => `projects/p/zones/${zone}/instances/${name}`;
const vm = (records: RecordSet, name: string, at: number, ...states: readonly string[]): void =>
  states.forEach((to) => records.event('vm-state', pathOf(name), at, { to }));

/** @param host that whoever asks for it dials; absent: jobctl's worker */
function asked(records: RecordSet, name: string, at: number, host?: string): void {
  const method = 'compute.googleapis.com/compute.v1.instances.delete';
  records.event('api-call', pathOf(name), at, { method, code: 'OK', ...(host !== undefined && { host }) });
}

/** A gang of two, whose commands begin, and with a code end. */
function gang(records: RecordSet, code?: number): void {
  records.job('a', { hosts: 2 });
  for (const host of [0, 1]) {
    vm(records, `${SLICE}-${host}`, 0, 'PROVISIONING', 'STAGING', 'RUNNING');
    records.command('a', 1, { host, on: `${SLICE}-${host}`, ...(code !== undefined && { code }) });
  }
}

/** jobctl takes the gang back. */
function given(records: RecordSet, at: number, hosts: readonly number[] = [0, 1]): void {
  for (const host of hosts) {
    asked(records, `${SLICE}-${host}`, at);
    vm(records, `${SLICE}-${host}`, at, 'STOPPING', 'gone');
  }
}

function gangAgain(records: RecordSet): void {
  for (const host of [0, 1]) records.command('a', 10, { attempt: 2, host, code: 0, node: 'jc-a-g2' });
  records.ended('a', 'succeeded');
}

function foreignVm(records: RecordSet): void {
  records.deed(0, 'foreign', { resource: `z/instances/${SLICE}` });
  vm(records, SLICE, 0, 'RUNNING');
}

const lost = (records: RecordSet, to: string): void => {
  gang(records);
  vm(records, `${SLICE}-1`, 4, to);
  given(records, 5, to === 'gone' ? [0] : [0, 1]);
  gangAgain(records);
};

export const PLANTED_OF_VMS: Readonly<Record<string, readonly [count: Count, forge: Forge]>> = {
  'a VM that nobody deleted': ['leaked resources', (r) => vm(r, SLICE, 0, 'PROVISIONING', 'RUNNING')],
  'a VM that is TERMINATED and stays': ['leaked resources', (r) => vm(r, SLICE, 0, 'RUNNING', 'TERMINATED')],
  'one VM of a gang that was left': [
    'leaked resources',
    (r) => {
      gang(r, 0);
      given(r, 9, [0]);
      r.ended('a', 'succeeded');
    },
  ],
  'more VMs than the pool has': [
    'chips overcommitted',
    (r) => {
      for (const index of [0, 1, 2, 3, 4]) vm(r, `jc-a-g1-${index}`, index, 'PROVISIONING');
      for (const index of [0, 1, 2, 3, 4]) vm(r, `jc-a-g1-${index}`, 9, 'gone');
    },
  ],
  'VMs that count until they are gone': [
    'chips overcommitted',
    (r) => {
      for (const index of [0, 1, 2, 3]) vm(r, `jc-a-g1-${index}`, index, 'RUNNING', 'STOPPING');
      vm(r, 'jc-b-g1', 5, 'PROVISIONING', 'gone');
      for (const index of [0, 1, 2, 3]) vm(r, `jc-a-g1-${index}`, 9, 'gone');
    },
  ],
  'a foreign VM that jobctl asked to delete': [
    'foreign resources touched',
    (r) => {
      foreignVm(r);
      asked(r, SLICE, 3);
    },
  ],
  'a foreign VM that is gone': [
    'foreign resources touched',
    (r) => {
      foreignVm(r);
      vm(r, SLICE, 3, 'gone');
    },
  ],
  'a healthy gang that was given up': [
    'false recoveries',
    (r) => {
      gang(r);
      given(r, 4);
      gangAgain(r);
    },
  ],
  'a gang whose VM is STOPPING, and serves still': ['false recoveries', (r) => lost(r, 'STOPPING')],
  'a gang that was given up, of which a VM was lost after that': [
    'false recoveries',
    (r) => {
      gang(r);
      given(r, 4, [0]);
      vm(r, `${SLICE}-1`, 5, 'TERMINATED');
      given(r, 6, [1]);
      gangAgain(r);
    },
  ],
  'a gang that was given up, while a VM of another slice was lost': [
    'false recoveries',
    (r) => {
      gang(r);
      // Of ten slices or more one name begins as another.
      for (const name of ['jc-a-g11-0', 'jc-a-g112']) vm(r, name, 3, 'RUNNING', 'TERMINATED', 'gone');
      given(r, 4);
      gangAgain(r);
    },
  ],
  'work of a gang that was done, and ran again': [
    'ended work run again',
    (r) => {
      r.readWithinMs = 2_000;
      gang(r, 0);
      r.event('vm-power', pathOf(`${SLICE}-0`), 8, { power: 'off' });
      given(r, 9);
      gangAgain(r);
    },
  ],
  'a stockout that Compute Engine did not have': [
    'untrue reasons',
    (r) =>
      saying(
        r,
        'provisioning: Compute Engine refused slice 0 in z: the create of VM jc-a-g1-0 failed: none left; z is asked again in 1 s',
      ),
  ],
  'a name of a VM that is said to be taken, and is free': [
    'untrue reasons',
    (r) => saying(r, 'evicting: Compute Engine refused slice 0 in z: the VM jc-a-g1 belongs to somebody else'),
  ],
  'a preemption of a VM that was none': [
    'untrue reasons',
    (r) => {
      saying(
        r,
        'evicting: slice 0 was preempted by the provider: the VM jc-a-g1-0 was preempted and deleted; trying again',
      );
      asked(r, 'jc-a-g1-0', 1);
      vm(r, 'jc-a-g1-0', 2, 'STOPPING', 'gone');
    },
  ],
};

export const RIGHT_OF_VMS: Readonly<Record<string, Forge>> = {
  'a gang of which one VM is TERMINATED': (r) => lost(r, 'TERMINATED'),
  'a VM that is alone and TERMINATED': (r) => {
    r.job('a');
    vm(r, SLICE, 0, 'RUNNING');
    r.command('a', 1, { on: SLICE });
    vm(r, SLICE, 4, 'TERMINATED');
    asked(r, SLICE, 5);
    vm(r, SLICE, 5, 'STOPPING', 'gone');
    r.command('a', 10, { attempt: 2, code: 0, node: 'jc-a-g2' });
    r.ended('a', 'succeeded');
  },
  'a gang of which one VM is SUSPENDED': (r) => lost(r, 'SUSPENDED'),
  'a gang of which one VM vanished': (r) => lost(r, 'gone'),
  'a gang of which a person deletes a VM': (r) => {
    gang(r);
    asked(r, `${SLICE}-1`, 3, 'localhost:81');
    vm(r, `${SLICE}-1`, 3, 'STOPPING', 'gone');
    given(r, 5, [0]);
    gangAgain(r);
  },
  'a gang of which one VM was told of its preemption, before Compute Engine says it': (r) => {
    gang(r);
    r.deed(3, 'preempt', { resource: `${SLICE}-1` });
    given(r, 4);
    gangAgain(r);
  },
  'work of a gang that was done a moment before one VM lost its power': (r) => {
    r.readWithinMs = 2_000;
    gang(r, 0);
    r.event('vm-power', pathOf(`${SLICE}-0`), 5, { power: 'off' });
    vm(r, `${SLICE}-0`, 6, 'TERMINATED');
    given(r, 8);
    gangAgain(r);
  },
  'a VM that a rehearsal forgot when it was killed': (r) => {
    vm(r, SLICE, 0, 'PROVISIONING');
    r.event('restored', pathOf(SLICE), 1, { of: 'vm' });
  },
  'a foreign VM that is left alone, beside one of ours of that name in another zone': (r) => {
    foreignVm(r);
    const elsewhere = pathOf(SLICE, 'y');
    for (const to of ['PROVISIONING', 'RUNNING', 'gone']) r.event('vm-state', elsewhere, 5, { to });
  },
  'a name of a VM that is taken': (r) => {
    foreignVm(r);
    saying(r, 'evicting: Compute Engine refused slice 0 in z: the VM jc-a-g1 belongs to somebody else');
  },
  'a stockout in the words of Compute Engine': (r) => {
    const error = { code: 'STOCKOUT', message: 'none "left"' };
    r.event('vm-state', pathOf('jc-a-g1-0'), 4, { to: 'gone', error });
    saying(
      r,
      'provisioning: Compute Engine refused slice 0 in z: the create of VM jc-a-g1-0 failed: none "left"; z is asked again in 1 s',
    );
  },
};
