import { log } from '@temporalio/activity';
import type { HostsPort, RunStatus } from '../../cloud/hosts/port.js';
import { MOST_RECORD_BYTES, type StorePort } from '../../cloud/store/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import type { HostEnd } from '../../domain/recovery/host-ends.js';
import { exitRecordObject } from '../../domain/store-layout.js';
import { messageOf } from '../failures.js';
import { type AttemptHost, runIdOf } from './attempt-hosts.js';
import type { ExitProofOf } from './exit-proof.js';
import { endOf } from './run-end.js';

type Of = Pick<AttemptInput, 'job' | 'attempt'>;
type Exited = Extract<RunStatus, { readonly kind: 'exited' }>;

interface Sources {
  readonly store: Pick<StorePort, 'read'>;
  readonly hosts: Pick<HostsPort, 'readExitRecord'>;
  readonly proofOf: ExitProofOf;
}

/** Object of a host's exit record. */
export const exitRecordOf = ({ job, attempt }: Of, { target }: AttemptHost): string =>
  exitRecordObject(job.id, attempt, target.uid, target.index);

/**
 * Ends of the command on hosts that can no longer be asked, by the exit records that they stored themselves (docs/adr/0058): for
 * all of these hosts, or for none. One read per host, by its name: hosts write here too, and could make a listing endless. A
 * record without the proof that its host got with its run may be from anyone who can write into the bucket, so it does not count.
 */
export async function storedEnds(
  { store, hosts: port, proofOf }: Sources,
  of: Of,
  hosts: readonly AttemptHost[],
): Promise<readonly HostEnd[]> {
  try {
    const objects = hosts.map((host) => exitRecordOf(of, host));
    const contents = await Promise.all(objects.map((name) => store.read(name, { start: 0, end: MOST_RECORD_BYTES })));
    if (contents.includes(undefined)) return [];
    const ends = hosts.flatMap(({ target }, index) => {
      const record = { runId: runIdOf(of), proof: proofOf(target) };
      const status = port.readExitRecord(contents[index]?.toString() ?? '', record);
      if (status === undefined) log.warn(`${objects[index]} is no exit record of that host, and is not believed`);
      return (status && endOf(status, { slice: target.slice, host: target.index })) ?? [];
    });
    return ends.length === hosts.length ? ends : [];
  } catch (error) {
    log.warn(`exit records in the store cannot be read: ${messageOf(error)}`);
    return [];
  }
}

/**
 * Keeps an end that a host has told, so that no later look forgets it: neither a host that has since lost its record, nor the
 * next worker (docs/adr/0102). If the host's own record came first, it stays.
 */
export async function keepEnd(
  { store, hosts: port, proofOf }: { readonly store: Pick<StorePort, 'write'> } & Kept,
  of: Of,
  host: AttemptHost,
  status: Exited,
): Promise<void> {
  try {
    const record = port.exitRecord(status, { runId: runIdOf(of), proof: proofOf(host.target) });
    await store.write(exitRecordOf(of, host), record, 'absent', 'application/json');
  } catch (error) {
    log.warn(`the end of host ${host.number} is not kept: ${messageOf(error)}`);
  }
}

interface Kept {
  readonly hosts: Pick<HostsPort, 'exitRecord'>;
  readonly proofOf: ExitProofOf;
}
