import { log } from '@temporalio/activity';
import { type HostTarget, wayOf } from '../../cloud/hosts/port.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { AttemptInput, SetUpEnd } from '../../contract/job-activities.js';
import { hostKeyObject } from '../../domain/store-layout.js';
import { numberingOf } from '../../domain/slice.js';
import { type HostCaller, hostsOf } from './attempt-hosts.js';

/** Whether a host reports another worker number than its place in the provider's list (docs/adr/0047). */
export async function saysAnother(caller: HostCaller, input: AttemptInput, target: HostTarget): Promise<boolean> {
  if (!wayOf(target).mayBeRenumbered) return false;
  const slice = input.slices.find(({ index }) => index === target.slice);
  if (slice === undefined || slice.hosts.length === 1) return false;
  const said = await caller.on(target, (connection) => connection.workerNumber());
  if (said === undefined || said === target.index) return false;
  log.warn(`host ${target.index} of slice ${target.slice} says that it is worker ${said}`);
  return true;
}

/** Asks all hosts for their worker number, once one of them has another number than expected. */
export async function numberHosts(
  caller: HostCaller,
  store: Pick<StorePort, 'remove'>,
  input: AttemptInput,
): Promise<SetUpEnd> {
  const all = hostsOf(input);
  const renumbered = await Promise.all(
    input.slices.map(async ({ index, uid, hosts }) => {
      const targets = all.map(({ target }) => target).filter(({ slice }) => slice === index);
      const said = await Promise.all(
        targets.map((target) => caller.on(target, (connection) => connection.workerNumber())),
      );
      const numbering = numberingOf(hosts, said);
      // The hosts' keys are recorded by number.
      if (numbering.kind === 'renumbered')
        await Promise.all(hosts.map((host) => store.remove(hostKeyObject(uid, host.index))));
      return { index, numbering };
    }),
  );
  for (const { index, numbering } of renumbered)
    if (numbering.kind === 'contradictory')
      return { kind: 'host-bad', at: { slice: index, host: 0 }, module: 'connect', message: numbering.message };
  const slices = renumbered.flatMap(({ index, numbering }) =>
    numbering.kind === 'renumbered' ? [{ index, hosts: numbering.hosts }] : [],
  );
  return { kind: 'renumbered', slices };
}
