import { isInSecretStore } from '../cloud/job-keys/open-job-keys.js';
import { KeyFailure, type KeyUse, readReference } from '../cloud/keys/key-reference.js';
import type { Channel, Outlets } from '../cloud/notices/port.js';
import { noticeSender } from '../cloud/notices/sender.js';
import { type WorkerConfig, WorkerConfigError } from './config.js';

type NotifyConfig = WorkerConfig['notify'];
type ChannelConfig = NotifyConfig['channels'][string];

/**
 * The channels and the mail server of the worker's configuration. Secrets are read when an event is told, so a changed one needs
 * no new start.
 * @throws WorkerConfigError if a reference leads into the secret store, which every job can read
 */
export function outletsOf({ notify, secretStore }: Pick<WorkerConfig, 'notify' | 'secretStore'>): Outlets {
  const { channels, smtp, networks } = notify;
  const secret = (field: string, reference: string): (() => Promise<string>) => {
    if (isInSecretStore(reference, secretStore))
      throw new WorkerConfigError(
        `${field}: ${reference} is in the secret store, and jobs can read every secret of that\n  keep it in a file outside of that folder, or under a name of Secret Manager without jobctl-`,
      );
    const use: KeyUse = { noun: 'secret', makeOne: '', holds: field, Failure: KeyFailure };
    return async () => (await readReference(reference, { environment: process.env }, use)).trim();
  };
  const mail = smtp && { url: secret('notify.smtp.url', smtp.url), from: smtp.from };
  const entries = Object.entries(channels).map(
    ([name, channel]) =>
      [name, channelOf(channel, (key, value) => secret(`notify.channels.${name}.${key}`, value))] as const,
  );
  return { sender: noticeSender({ networks }, mail), channels: new Map(entries) };
}

function channelOf(channel: ChannelConfig, secret: (key: string, reference: string) => () => Promise<string>): Channel {
  if ('slack' in channel) return { kind: 'slack', url: secret('slack', channel.slack) };
  if ('mail' in channel) return { kind: 'mail', to: channel.mail };
  return { kind: 'webhook', url: channel.webhook, key: secret('key', channel.key) };
}
