import type { RecordSet } from '../record-set.js';

export type Forge = (records: RecordSet) => void;

export function runningJob(records: RecordSet): void {
  records.job('a');
  records.states('jc-a-g1', 0, ['CREATING', 'READY']);
  records.command('a', 1);
}

/** A job that succeeds on its third generation, and gave these reasons on the way. */
export function saying(records: RecordSet, ...lines: readonly string[]): void {
  records.job('a');
  records.command('a', 10, { code: 0, node: 'jc-a-g4' });
  const jobLog = lines.map((line) => `1970-01-01T00:00:05.000Z ${line}\n`).join('');
  records.ended('a', 'succeeded', { jobLog });
}

/** Its work is done at 4 s. */
export function doneJob(records: RecordSet): void {
  records.job('a');
  records.states('jc-a-g1', 0, ['CREATING', 'READY']);
  records.command('a', 1, { code: 0 });
}

export function secondAttempt(records: RecordSet, node = 'jc-a-g2'): void {
  if (node !== 'jc-a-g1') records.states(node, 8, ['CREATING', 'READY']);
  records.command('a', 10, { attempt: 2, code: 0, node });
  if (node !== 'jc-a-g1') records.deleted(node, 20);
  records.ended('a', 'succeeded');
}

export function endedJob(records: RecordSet, run: (job: string) => void, phase = 'succeeded', exitCode?: number): void {
  records.job('a');
  run('a');
  records.ended('a', phase, exitCode === undefined ? {} : { exitCode });
}

export function successStoring(records: RecordSet, text: string): void {
  records.success('a');
  records.stored.splice(0, 1, { job: 'a', attempt: 1, host: 0, text });
}

/** A cancelled job, whose command was killed. */
export function killed(records: RecordSet, stored: string): void {
  records.deed(1, 'cancel', { job: 'a' });
  endedJob(records, (job) => records.command(job, 0, { stored, goneAt: 5 }), 'cancelled');
}

/** A node of somebody else's, with the name that a slice of ours would get. */
export function foreign(records: RecordSet): void {
  records.deed(0, 'foreign', { resource: 'z/nodes/jc-a-g2' });
  records.states('jc-a-g2', 0, ['READY']);
}

/** A job that was refused for its login, and the cloud's own refusal of one. */
export function refusedLogin(records: RecordSet, refusedAt: number): void {
  saying(
    records,
    'provisioning: Cloud TPU refused slice 0 in z: the Google login has expired; z is asked again in 1 s',
  );
  records.event('api-call', 'jc-a-g1', refusedAt, { method: 'GetNode', code: 'UNAUTHENTICATED' });
}

/** A job that was told of a zone that is none, and the cloud's own denial of one. */
export function deniedZone(records: RecordSet, zone: string): void {
  saying(
    records,
    "evicting: Cloud TPU refused slice 0 in z: zone z does not exist, or this project may not use it: see 'gcloud ..'",
  );
  const message = `Permission denied on 'locations/${zone}' (or it may not exist).`;
  records.event('api-call', 'jc-a-g1', 4, { method: 'CreateNode', code: 'PERMISSION_DENIED', message });
}

export const THEIR_HOST = 'localhost:1';

/** Job `t` of a second installation, which runs and succeeds beside job `a` of the first. @param deletes the host of whoever deletes the slice of which job */
export function besideSecond(records: RecordSet, deletes: { readonly a?: string; readonly t?: string }): void {
  records.theirHost = THEIR_HOST;
  for (const id of ['a', 't'] as const) {
    records.job(id, id === 't' ? { isTheirs: true } : {});
    records.states(`jc-${id}-g1`, 0, ['CREATING', 'READY'], 24);
    records.command(id, 0, { code: 0 });
    records.deleted(`jc-${id}-g1`, 10, deletes[id]);
    records.ended(id, 'succeeded');
  }
}
