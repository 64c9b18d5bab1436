import { type Choice, type ChoiceKey, choiceIf, type ChoiceLists, entryChoices } from '../../choices.js';
import type { UsualAccounts } from '../kind.js';
import { ALL_SCOPES, DEFAULT_SERVICE_ACCOUNT } from './google-resources.js';
import type { DataDisk } from './words.js';

/** The network that Compute Engine takes if the request names none. */
export const DEFAULT_NETWORK = 'default';

/** Values that a job in Google Cloud has without choosing any. Scopes and external IPs only narrow what the other keys give. */
export const usualGoogleChoices = (section: string, { googleProject }: Partial<UsualAccounts>): ChoiceLists => ({
  google_projects: googleProject === undefined ? [] : [googleProject],
  service_accounts: [DEFAULT_SERVICE_ACCOUNT],
  networks: [DEFAULT_NETWORK],
  scopes: ['**'],
  external_ips: ['true'],
  machines: [section],
});

interface GoogleRequest {
  readonly project?: string;
  readonly serviceAccount?: string;
  readonly network?: string;
  readonly subnetwork?: string;
  readonly dataDisks?: readonly DataDisk[];
  readonly scopes?: readonly string[];
  readonly externalIps: boolean;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly reservation?: string;
}

/**
 * The choices of a job in Google Cloud. If the job names no service account or network, Google takes a default, which is a
 * choice too: Compute Engine's default account often may do everything. test/security/f09-every-key.test.ts lists every other
 * key by name as harmless.
 */
export function googleChoices(section: string, request: GoogleRequest): readonly Choice[] {
  const { project, serviceAccount, network, subnetwork, dataDisks = [], scopes = [] } = request;
  const or = (key: ChoiceKey, name: string, value: string | undefined, implied: string): Choice =>
    value === undefined
      ? { key, path: [section, name], value: implied, isImplied: true }
      : { key, path: [section, name], value };
  return [
    ...choiceIf('google_projects', [section, 'project'], project),
    or('service_accounts', 'service_account', serviceAccount, DEFAULT_SERVICE_ACCOUNT),
    or('networks', 'network', network, DEFAULT_NETWORK),
    ...choiceIf('networks', [section, 'subnetwork'], subnetwork),
    ...dataDisks.map(({ source }, index): Choice => ({
      key: 'data_disks',
      path: [section, 'data_disks', index, 'source'],
      value: source,
    })),
    ...(scopes.length > 0 ? [] : [or('scopes', 'scopes', undefined, ALL_SCOPES)]),
    ...scopes.map((value): Choice => ({ key: 'scopes', path: [section, 'scopes'], value })),
    ...(request.externalIps ? [{ key: 'external_ips', path: [section, 'external_ips'], value: 'true' } as const] : []),
    ...request.tags.map((value): Choice => ({ key: 'tags', path: [section, 'tags'], value })),
    ...entryChoices('metadata', [section, 'metadata'], request.metadata),
    ...choiceIf('reservations', [section, 'reservation'], request.reservation),
  ];
}
