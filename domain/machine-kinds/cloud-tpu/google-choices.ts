import { type Choice, type ChoiceKey, choiceIf } from '../../choices.js';
import { DEFAULT_SERVICE_ACCOUNT } from './google-resources.js';
import type { DataDisk } from './words.js';

/** Compute Engine's name of the network that it takes if none is named. */
export const DEFAULT_NETWORK = 'default';

interface GoogleRequest {
  readonly project?: string;
  readonly serviceAccount?: string;
  readonly network?: string;
  readonly subnetwork?: string;
  readonly dataDisks?: readonly DataDisk[];
}

/**
 * What a job chooses in Google Cloud. Where it names no service account or network, Google takes one of its own, which is a
 * choice too: Compute Engine's default account often may do everything.
 */
export function googleChoices(section: string, request: GoogleRequest): readonly Choice[] {
  const { project, serviceAccount, network, subnetwork, dataDisks = [] } = request;
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
  ];
}
