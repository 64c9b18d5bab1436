import { secretFingerprint } from './fingerprint.js';
import { type SecretStore, SecretsRefused, type StoredSecret } from './port.js';
import { SecretManagerRest, type RestSecret } from './secret-manager-rest.js';

/** A worker reads only secrets with this prefix, whatever a job file names. */
const PREFIX = 'jobctl-';
const LABEL = { jobctl: 'secret' } as const;
const FINGERPRINT = 'jobctl-fingerprint';
/** Pages of 250 secrets. The limit ends the loop if a server repeats its page tokens for ever. */
const MOST_PAGES = 200;
const PUT_AT = 'jobctl-put-at';

/**
 * Google's Secret Manager, by its REST API and the application default credentials. A secret is named `jobctl-NAME`, and its
 * newest version is the value. Fingerprint and time are annotations, so listing needs no right to read values. Older versions
 * stay until an operator destroys them.
 */
export class SecretManagerStore implements SecretStore {
  readonly place: string;
  readonly #project: string;
  readonly #rest: SecretManagerRest;

  constructor(project: string, endpoint?: string) {
    this.place = `Secret Manager of project ${project}`;
    this.#project = project;
    this.#rest = new SecretManagerRest(this.place, endpoint);
  }

  async read(name: string): Promise<string | undefined> {
    const answer = await this.#rest.call('GET', `${this.#path(name)}/versions/latest:access`, 'read');
    return answer === 'absent' ? undefined : Buffer.from(answer.payload?.data ?? '', 'base64').toString('utf8');
  }

  async list(): Promise<readonly StoredSecret[]> {
    const found: StoredSecret[] = [];
    let pageToken = '';
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const query = new URLSearchParams({ filter: `labels.jobctl=${LABEL.jobctl}`, pageSize: '250' });
      if (pageToken !== '') query.set('pageToken', pageToken);
      const page = await this.#rest.call('GET', `projects/${this.#project}/secrets?${query}`, 'list');
      if (page === 'absent') throw new SecretsRefused(`${this.place}: there is no such project, or no right to see it`);
      for (const one of (page.secrets ?? []).flatMap(storedSecret)) found.push(one);
      pageToken = page.nextPageToken ?? '';
      if (pageToken === '') return found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    }
    throw new SecretsRefused(`${this.place}: the list of secrets has no end after ${MOST_PAGES} pages`);
  }

  async put(name: string, value: string): Promise<StoredSecret & { readonly isChanged: boolean }> {
    const fingerprint = await secretFingerprint(name, value);
    const known = await this.#describe(name);
    if (known !== undefined && (await this.#isValue(name, value)) && known.fingerprint === fingerprint)
      return { ...known, isChanged: false };
    await this.#make(name);
    const data = Buffer.from(value).toString('base64');
    await this.#rest.mustCall('POST', `${this.#path(name)}:addVersion`, 'add a version', { payload: { data } });
    const putAt = Date.now();
    // Last: after a crash before this call the old fingerprint stays, and the next put of the value replaces it.
    const annotations = { [FINGERPRINT]: fingerprint, [PUT_AT]: new Date(putAt).toISOString() };
    await this.#rest.mustCall('PATCH', `${this.#path(name)}?updateMask=annotations`, 'annotate', { annotations });
    return { name, fingerprint, putAt, isChanged: true };
  }

  async remove(name: string): Promise<boolean> {
    const secret = await this.#rest.call('GET', this.#path(name), 'look at');
    if (secret === 'absent') return false;
    this.#refuseForeign(name, secret);
    const only = secret.etag === undefined ? '' : `?etag=${encodeURIComponent(secret.etag)}`;
    return (await this.#rest.call('DELETE', `${this.#path(name)}${only}`, 'remove')) !== 'absent';
  }

  /** A user who may write but not read cannot compare, so each of their puts adds a version. */
  async #isValue(name: string, value: string): Promise<boolean> {
    return (await this.read(name).catch(() => undefined)) === value;
  }

  async #describe(name: string): Promise<StoredSecret | undefined> {
    const secret = await this.#rest.call('GET', this.#path(name), 'look at');
    if (secret === 'absent') return undefined;
    this.#refuseForeign(name, secret);
    return storedSecret(secret)[0];
  }

  async #make(name: string): Promise<void> {
    const body = { replication: { automatic: {} }, labels: LABEL };
    const path = `projects/${this.#project}/secrets?secretId=${PREFIX}${name}`;
    await this.#rest.mustCall('POST', path, 'make', body, [409]);
  }

  /** The name alone is no proof (docs/adr/0044). @throws SecretsRefused if another tool made the secret under our prefix */
  #refuseForeign(name: string, { labels }: RestSecret): void {
    if (labels?.['jobctl'] === LABEL.jobctl) return;
    throw new SecretsRefused(
      `${this.place}: secret ${PREFIX}${name} is not jobctl's: it has no label jobctl=${LABEL.jobctl}. Take another name`,
    );
  }

  #path(name: string): string {
    return `projects/${this.#project}/secrets/${PREFIX}${encodeURIComponent(name)}`;
  }
}

/** Empty if the secret has our label but not our prefix: another tool made it. */
function storedSecret({ name = '', annotations = {}, createTime }: RestSecret): StoredSecret[] {
  const id = name.slice(name.lastIndexOf('/') + 1);
  if (!id.startsWith(PREFIX)) return [];
  const putAt = Date.parse(annotations[PUT_AT] ?? createTime ?? '');
  return [{ name: id.slice(PREFIX.length), fingerprint: annotations[FINGERPRINT] ?? 'unknown', putAt: putAt || 0 }];
}
