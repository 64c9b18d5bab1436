import { log } from '@temporalio/activity';
import { CloudRefused, CloudUnavailable, type OnMissing, type OwnedResource } from '../cloud/machines/port.js';
import type { StorePort } from '../cloud/store/port.js';
import { NO_ACCOUNT, type UsualAccounts } from '../domain/machine-kinds/kind.js';
import type { MachineRequest } from '../domain/machine-kinds/registry.js';
import { kindOfJob, MACHINE_KINDS, machineKind, type MachineRef } from '../domain/machines.js';
import { accountObject, accountOfObject } from '../domain/store-layout.js';
import type { ActivityDependencies, Installation } from './dependencies.js';
import { invalidJob } from './failures.js';

/** Records that machines of ours may be in the account that this job uses. Repeating is safe. */
export async function rememberAccount(
  store: StorePort,
  installation: Installation,
  request: MachineRequest,
): Promise<void> {
  const kind = machineKind(kindOfJob(request));
  await store.write(accountObject(kind.accountsPrefix, kind.account(installation, request)), '', 'absent');
}

/** @throws InvalidJob if neither the job nor the installation names the account of its machines, such as a Google project */
export function refuseWithoutAccount(accounts: UsualAccounts, request: MachineRequest): void {
  const { account, section, accountKey } = machineKind(kindOfJob(request));
  if (accountKey === undefined || account(accounts, request) !== NO_ACCOUNT) return;
  const { what, key, setting } = accountKey;
  throw invalidJob(
    `${section.name}: no ${what} is named, neither by the job, its pool, nor this installation: ` +
      `name it as '${key}' in the job file, or ask the operator for \`${setting}\` in the worker's configuration`,
  );
}

/** All resources of this installation in the cloud, in every account that one of its jobs ever used. */
export interface OwnedEverywhere {
  readonly owned: readonly OwnedResource<MachineRef>[];
  /**
   * Accounts that refused or did not answer, and zones that the provider could not reach, as `zone of account`. Their resources
   * are unknown.
   */
  readonly unlisted: readonly string[];
  /** The error of the worker's own account, which a worker must be able to list. Set only if that account was passed over. */
  readonly ownFailure?: Error;
}

/** Outside of an activity: the worker's own log. */
export type Log = Pick<typeof log, 'warn'>;

type Outside = Pick<ActivityDependencies, 'machinesOf' | 'store' | 'installation'>;

/**
 * Lists the resources of every kind in the worker's own account, and in all accounts in which a job was accepted. Another account
 * that refuses is passed over: a project that was deleted must not stop the janitor and the quota of all others.
 * @param missing `passed over`: zones and accounts that are not reached are named in `unlisted`, and the rest is returned
 * @throws if nothing may be missing: CloudRefused from the worker's own account; CloudUnavailable from any account, since an
 * outage proves nothing
 */
export async function listOwnedEverywhere(
  outside: Outside,
  missing: 'refused' | 'passed over' = 'refused',
  teller: Log = log,
): Promise<OwnedEverywhere> {
  const kinds = await Promise.all(MACHINE_KINDS.map((kind) => listOwnedOf(kind, outside, missing, teller)));
  const failure = kinds.find(({ ownFailure }) => ownFailure)?.ownFailure;
  return {
    owned: kinds.flatMap(({ owned }) => owned),
    unlisted: kinds.flatMap(({ unlisted }) => unlisted),
    ...(failure && { ownFailure: failure }),
  };
}

async function listOwnedOf(
  name: (typeof MACHINE_KINDS)[number],
  { machinesOf, store, installation }: Outside,
  missing: 'refused' | 'passed over',
  teller: Log,
): Promise<OwnedEverywhere> {
  const kind = machineKind(name);
  const account: string | undefined = kind.account(installation);
  const own = account === NO_ACCOUNT ? undefined : account;
  const objects = await store.list(kind.accountsPrefix);
  const remembered = objects.map((object) => accountOfObject(kind.accountsPrefix, object.name));
  const unlisted = new Set<string>();
  let ownFailure: Error | undefined;
  const listings = [...new Set([...(own === undefined ? [] : [own]), ...remembered])].map(async (listed) => {
    try {
      const onMissing: OnMissing = (place, why) => {
        teller.warn(`what is ours in ${place} of ${kind.accountText(listed)} is not known: ${why}`);
        unlisted.add(`${place} of ${listed}`);
      };
      return await machinesOf(name).listOwned(
        listed,
        installation.owner,
        missing === 'refused' ? undefined : onMissing,
      );
    } catch (error) {
      if (!(error instanceof CloudRefused || error instanceof CloudUnavailable)) throw error;
      const isForGood = error instanceof CloudRefused && listed !== own;
      if (missing === 'refused' && !isForGood) throw error;
      teller.warn(`${kind.accountText(listed)} does not list our resources: ${error.message}`);
      unlisted.add(listed);
      if (listed === own) ownFailure = error;
      return [];
    }
  });
  const owned = (await Promise.all(listings)).flat();
  return { owned, unlisted: [...unlisted], ...(ownFailure && { ownFailure }) };
}
