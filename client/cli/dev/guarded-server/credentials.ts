import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { generate as generateCertificate } from 'selfsigned';
import { type KeySet, keySetOf, newSigningKey, signApiKey } from '../../../../cloud/temporal/api-keys.js';
import { writePrivate } from '../../private-file.js';
import { SERVER_NAME, type ServerFiles } from './server-files.js';

const DAY_MS = 86_400_000;
/** Browsers and Apple's TLS take no longer one. */
const LIFETIME_DAYS = 820;
/** A `dev up` in these last days of a login's life starts the server again, with a new one. */
const RENEWED_DAYS_BEFORE = 60;
/** Another clock of this computer (a container's) may be a little behind. */
const CLOCK_DAYS = 1;

/**
 * Makes authority, certificate and API key anew. Neither the authority's key nor the one that signs API keys is kept: nobody can make
 * another certificate or key, and a new start of the server makes the old ones worthless.
 * @returns what the server verifies API keys with
 */
export async function makeCredentials(files: ServerFiles, now: number): Promise<KeySet> {
  const notAfter = now + LIFETIME_DAYS * DAY_MS;
  await makeCertificates(files, now, notAfter);
  const key = newSigningKey();
  const claims = { subject: 'local stack', permissions: ['temporal-system:admin'], expiresAt: notAfter };
  writePrivate(files.apiKey, signApiKey(key, claims));
  return keySetOf([key]);
}

/** When the login ends, epoch ms; undefined if there is none yet. */
export function loginEnd({ certificate }: ServerFiles): number | undefined {
  try {
    return Date.parse(new X509Certificate(readFileSync(certificate)).validTo);
  } catch {
    return undefined;
  }
}

/** Whether a server that runs has to be started again for a new login. */
export function isLoginOld(files: ServerFiles, now: number): boolean {
  const end = loginEnd(files);
  return end === undefined || end - now < RENEWED_DAYS_BEFORE * DAY_MS;
}

/** Another one for each login: who connected with an earlier one has to connect again. */
export function loginFingerprint({ apiKey }: ServerFiles): string {
  return createHash('sha256').update(readFileSync(apiKey)).digest('hex').slice(0, 16);
}

/** The library exports none of its types but by what it takes. */
type CertificateOptions = NonNullable<Parameters<typeof generateCertificate>[1]>;
type CertificateExtension = NonNullable<CertificateOptions['extensions']>[number];

async function makeCertificates(files: ServerFiles, now: number, notAfter: number): Promise<void> {
  const { generate } = await import('selfsigned');
  const options = {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - CLOCK_DAYS * DAY_MS),
    notAfterDate: new Date(notAfter),
  } as const;
  const authority = await generate([{ name: 'commonName', value: 'local stack' }], {
    ...options,
    extensions: AUTHORITY_EXTENSIONS,
  });
  const server = await generate([{ name: 'commonName', value: SERVER_NAME }], {
    ...options,
    ca: { key: authority.private, cert: authority.cert },
    extensions: SERVER_EXTENSIONS,
  });
  writePrivate(files.certificateKey, server.private);
  writePrivate(files.certificate, server.cert);
  writePrivate(files.authority, authority.cert);
}

const AUTHORITY_EXTENSIONS: CertificateExtension[] = [
  { name: 'basicConstraints', cA: true, critical: true },
  { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
];
const SERVER_EXTENSIONS: CertificateExtension[] = [
  { name: 'basicConstraints', cA: false },
  { name: 'keyUsage', digitalSignature: true, critical: true },
  { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
  {
    name: 'subjectAltName',
    altNames: [
      { type: 2, value: SERVER_NAME },
      { type: 7, ip: '127.0.0.1' },
    ],
  },
];
