import type { AuthClient, GoogleAuth } from 'google-auth-library';
import { messageOf } from '../../domain/error-words.js';
import { type GoogleError, googleRefusal, inOneLine, NO_CREDENTIALS } from '../google-refusal.js';
import { GoogleCallFailed, type Identity } from './port.js';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const EMAIL_TIMEOUT_MS = 5_000;

/** The application default credentials for requests about a Google project, loaded on first use. */
export class GoogleLogin {
  readonly #googleProject: string;
  #opened: Promise<{ readonly auth: GoogleAuth; readonly client: AuthClient }> | undefined;

  constructor(googleProject: string) {
    this.#googleProject = googleProject;
  }

  /** @throws GoogleCallFailed */
  async headers(): Promise<Record<string, string>> {
    const { client } = await this.#open();
    const { token } = await client.getAccessToken().catch(failLogin);
    const quotaProject = client.quotaProjectId ?? ((await isPerson(client)) ? this.#googleProject : undefined);
    return {
      authorization: `Bearer ${token}`,
      // Service Usage and similar APIs refuse a person's call that names no project to count it for.
      ...(quotaProject === undefined ? {} : { 'x-goog-user-project': quotaProject }),
    };
  }

  /** @throws GoogleCallFailed, also if the login has expired */
  async identity(): Promise<Identity> {
    const { auth, client } = await this.#open();
    const { token } = await client.getAccessToken().catch(failLogin);
    const kind = await kindOf(client);
    const email = await within(EMAIL_TIMEOUT_MS, emailOf(auth, client, kind, token ?? ''));
    return {
      kind,
      ...(email === undefined ? {} : { email }),
      ...(client.quotaProjectId === undefined ? {} : { quotaProject: client.quotaProjectId }),
    };
  }

  #open(): Promise<{ readonly auth: GoogleAuth; readonly client: AuthClient }> {
    this.#opened ??= openLogin(this.#googleProject);
    return this.#opened;
  }
}

/**
 * The Google project that the environment names. In this order: GOOGLE_CLOUD_PROJECT, the credentials (for a person their quota
 * project), gcloud's configuration, the VM's project.
 */
export async function defaultGoogleProject(): Promise<string | undefined> {
  const { GoogleAuth } = await import('google-auth-library');
  const auth = new GoogleAuth({ scopes: [SCOPE] });
  const named = process.env['GOOGLE_CLOUD_PROJECT'] || process.env['GCLOUD_PROJECT'];
  if (named) return named;
  const client = await auth.getClient().catch(() => undefined);
  return client?.quotaProjectId ?? (await auth.getProjectId().catch(() => undefined));
}

async function openLogin(projectId: string): Promise<{ readonly auth: GoogleAuth; readonly client: AuthClient }> {
  const { GoogleAuth } = await import('google-auth-library');
  // Without a project id the library runs gcloud to find it, which takes half a second or more.
  const auth = new GoogleAuth({ scopes: [SCOPE], projectId });
  const client = await auth
    .getClient()
    .catch((error: unknown) => fail({ message: messageOf(error), reason: NO_CREDENTIALS }));
  return { auth, client };
}

function failLogin(error: unknown): never {
  fail({ message: messageOf(error), ...statusOf(error) });
}

function fail(error: GoogleError): never {
  const refusal = googleRefusal(error);
  throw new GoogleCallFailed(
    refusal === undefined ? `no access token: ${error.message}` : inOneLine(refusal),
    error,
    refusal,
  );
}

function statusOf(error: unknown): { httpStatus?: number } {
  const status = (error as { readonly response?: { readonly status?: unknown } }).response?.status;
  return typeof status === 'number' ? { httpStatus: status } : {};
}

async function kindOf(client: AuthClient): Promise<Identity['kind']> {
  const { BaseExternalAccountClient, UserRefreshClient } = await import('google-auth-library');
  if (client instanceof UserRefreshClient) return 'user';
  return client instanceof BaseExternalAccountClient || isFederatedPerson(client) ? 'external' : 'service-account';
}

/** Compares the class name, because the library does not export the class (9.15). */
const isFederatedPerson = ({ constructor }: AuthClient): boolean =>
  constructor.name === 'ExternalAccountAuthorizedUserClient';

async function isPerson(client: AuthClient): Promise<boolean> {
  return (await kindOf(client)) === 'user' || isFederatedPerson(client);
}

async function emailOf(
  auth: GoogleAuth,
  client: AuthClient,
  kind: Identity['kind'],
  token: string,
): Promise<string | undefined> {
  if (kind !== 'user') return (await auth.getCredentials()).client_email ?? undefined;
  const { OAuth2Client } = await import('google-auth-library');
  return client instanceof OAuth2Client ? (await client.getTokenInfo(token)).email : undefined;
}

/** The address is optional: if it cannot be found in time, the result is undefined. */
async function within<T>(ms: number, found: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, ms, undefined)));
  return Promise.race([found.catch(() => undefined), late]).finally(() => clearTimeout(timer));
}
