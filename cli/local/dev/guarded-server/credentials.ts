import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { generate as generateCertificate } from 'selfsigned';
import { type KeySet, keySetOf, newSigningKey, signApiKey } from '../../../../cloud/temporal/login-files.js';
import { writePrivate } from '../../../terminal/file-on-disk.js';
import { SERVER_NAME, type ServerFiles, serverFiles } from '../../../place/stack/stack-record.js';
import type { StackHome } from '../../../terminal/home.js';

const DAY_MS = 86_400_000;
/** Lifetime of a certificate. Browsers and Apple's TLS reject a longer one. */
const LIFETIME_DAYS = 820;
/** A `dev up` within this time before a login's end restarts the server with a new login. */
const RENEWED_DAYS_BEFORE = 60;
/** Days before its creation from which a certificate is valid: another clock (a container's) may be a little behind. */
const CLOCK_DAYS = 1;

/**
 * Creates a new authority, certificate and API key. Neither the authority's key nor the signing key of API keys is stored, so no
 * further certificate or key can be made, and a restart of the server makes the old ones worthless.
 * @returns the key set with which the server verifies API keys
 */
export async function makeCredentials(files: ServerFiles, now: number): Promise<KeySet> {
  const notAfter = now + LIFETIME_DAYS * DAY_MS;
  await makeCertificates(files, now, notAfter);
  const key = newSigningKey();
  const claims = { subject: 'local stack', permissions: ['temporal-system:admin'], expiresAt: notAfter };
  writePrivate(files.apiKey, signApiKey(key, claims));
  return keySetOf([key]);
}

/** The end of the login in epoch ms; undefined if there is none yet. */
export function loginEnd({ certificate }: ServerFiles): number | undefined {
  try {
    return Date.parse(new X509Certificate(readFileSync(certificate)).validTo);
  } catch {
    return undefined;
  }
}

/** Returns whether a running server must be restarted for a new login. */
export function isLoginOld(files: ServerFiles, now: number): boolean {
  const end = loginEnd(files);
  return end === undefined || end - now < RENEWED_DAYS_BEFORE * DAY_MS;
}

/** A different value for each login: clients of an earlier login must reconnect. */
export function loginFingerprint({ apiKey }: ServerFiles): string {
  return createHash('sha256').update(readFileSync(apiKey)).digest('hex').slice(0, 16);
}

/** The library does not export its types, so they are derived from parameters. */
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

/** A line for people: the server's address, its login, and the end of that login. */
export function guardedLine(home: StackHome, address: string): string {
  const files = serverFiles(home);
  const end = loginEnd(files);
  const until = end === undefined ? '' : `, until ${new Date(end).toISOString().slice(0, 10)}`;
  return `Temporal: ${address}, by TLS and the API key in ${files.apiKey}${until}; it has no Web UI`;
}
