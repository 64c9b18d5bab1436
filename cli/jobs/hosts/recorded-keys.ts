import { expectedOf, type HostKeyPins } from '../../../cloud/hosts/host-key-pins.js';
import { type HostKeyRecord, readHostKey } from '../../../cloud/hosts/host-key-record.js';
import { hostKeyPlace, type SshTarget } from '../../../cloud/hosts/port.js';
import { hostKeyObject } from '../../../domain/store-layout.js';
import { objectPlace, type StoreReader } from '../../../cloud/store/port.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { JobHost } from './job-hosts.js';

export type RecordedKeys = ReadonlyMap<JobHost<SshTarget>, HostKeyRecord>;

/**
 * The host keys that workers have recorded of these hosts, each with the user that it accepted: under OS Login not the job's
 * user. Verbs trust no host on first use: a worker has connected to it before.
 * @throws CliError if a host has no record yet
 */
export async function recordedKeys(store: StoreReader, hosts: readonly JobHost<SshTarget>[]): Promise<RecordedKeys> {
  const records = await Promise.all(hosts.map(({ target }) => readHostKey(store, ...hostKeyPlace(target))));
  const unknown = hosts.filter((_, at) => records[at] === undefined);
  if (unknown.length > 0) {
    throw new CliError(
      ExitCode.Refused,
      `the key of host ${unknown.map(({ number }) => number).join(', ')} is not recorded yet, so another machine could pass for it`,
      'a worker records it when it connects first, as set-up begins; try again then',
    );
  }
  return new Map(
    hosts.map((host, at) => {
      const record = records[at] as HostKeyRecord;
      return [{ ...host, target: { ...host.target, user: record.user ?? host.target.user } }, record];
    }),
  );
}

/** The same hosts, with another user than the one of jobctl's worker. */
export const loggedInAs = (keys: RecordedKeys, user: string): RecordedKeys =>
  new Map([...keys].map(([host, record]) => [{ ...host, target: { ...host.target, user } }, record]));

/** Returns whether one of these hosts asks Google who may log in, and as which user: it accepted another user than the job's. */
export const areUnderOsLogin = (keys: RecordedKeys, { user }: { readonly user: string }): boolean =>
  [...keys.keys()].some(({ target }) => target.own === undefined && target.user !== user);

/** Pins the fleet to these keys. No other key is accepted, and nothing is recorded from here. */
export function pinnedTo(keys: RecordedKeys, store: StoreReader): HostKeyPins {
  const byHost = new Map([...keys].map(([{ target }, record]) => [`${target.uid}/${target.index}`, record]));
  return {
    expected: async ({ uid, index }) => expectedOf(byHost.get(`${uid}/${index}`)),
    pin: async ({ uid, index }) => byHost.get(`${uid}/${index}`) as HostKeyRecord,
    isReplaced: async () => false,
    placeOf: (target) => objectPlace(store, hostKeyObject(...hostKeyPlace(target))),
  };
}

/** The name of a host in our known_hosts file. Addresses are recycled, node ids are not. */
export const hostKeyAlias = ({ target: { uid, index } }: JobHost): string => `jobctl-${uid}-${index}`;

export const knownHostsText = (keys: RecordedKeys): string =>
  [...keys].map(([host, { publicKey }]) => `${hostKeyAlias(host)} ${publicKey}\n`).join('');
