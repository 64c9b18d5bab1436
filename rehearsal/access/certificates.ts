import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from '../folders.js';
import type { generate as generateCertificate } from 'selfsigned';

/** A server's `certificate` and `key`, and the authority that its clients must trust (`caFile`). All PEM. */
export interface Certificates {
  /** For NODE_EXTRA_CA_CERTS and GRPC_DEFAULT_SSL_ROOTS_FILE_PATH. */
  readonly caFile: string;
  readonly certificate: string;
  readonly key: string;
}

/** The library exports this type only through a parameter. */
type CertificateExtension = NonNullable<NonNullable<Parameters<typeof generateCertificate>[1]>['extensions']>[number];

const DAY_MS = 86_400_000;
const LIFETIME_DAYS = 820;

/**
 * The authority of this state folder and its certificate for 127.0.0.1 and localhost. Both are made at the first call and kept,
 * so that a client that trusts them still does after a restart. They are renewed in their last week.
 */
export async function openCertificates(folder: string): Promise<Certificates> {
  const files = {
    ca: join(folder, 'ca.pem'),
    certificate: join(folder, 'server.pem'),
    key: join(folder, 'server-key.pem'),
  };
  if (!isFresh(files)) await makeCertificates(folder, files);
  return {
    caFile: files.ca,
    certificate: readFileSync(files.certificate, 'utf8'),
    key: readFileSync(files.key, 'utf8'),
  };
}

interface CertificateFiles {
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

function isFresh(files: CertificateFiles): boolean {
  if (![files.ca, files.certificate, files.key].every((file) => existsSync(file))) return false;
  return Date.parse(new X509Certificate(readFileSync(files.certificate)).validTo) > Date.now() + 7 * DAY_MS;
}

async function makeCertificates(folder: string, files: CertificateFiles): Promise<void> {
  // Loaded only for TLS: the module is heavy.
  const { generate } = await import('selfsigned');
  const now = Date.now();
  const options = {
    keyType: 'ec',
    algorithm: 'sha256',
    // Another clock of this computer (a container's) may be a little behind.
    notBeforeDate: new Date(now - DAY_MS),
    notAfterDate: new Date(now + LIFETIME_DAYS * DAY_MS),
  } as const;
  const authority = await generate([{ name: 'commonName', value: 'jobctl rehearsal' }], {
    ...options,
    extensions: AUTHORITY_EXTENSIONS,
  });
  const ca = { key: authority.private, cert: authority.cert };
  const server = await generate([{ name: 'commonName', value: 'localhost' }], {
    ...options,
    ca,
    extensions: SERVER_EXTENSIONS,
  });
  makeFolderSync(folder);
  writeFileSync(files.key, server.private, { mode: 0o600 });
  writeFileSync(files.certificate, server.cert);
  writeFileSync(files.ca, authority.cert);
}

const AUTHORITY_EXTENSIONS: CertificateExtension[] = [
  { name: 'basicConstraints', cA: true, critical: true },
  { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
];
const SERVER_EXTENSIONS: CertificateExtension[] = [
  { name: 'basicConstraints', cA: false },
  { name: 'keyUsage', digitalSignature: true, critical: true },
  { name: 'extKeyUsage', serverAuth: true },
  {
    name: 'subjectAltName',
    altNames: [
      { type: 2, value: 'localhost' },
      { type: 7, ip: '127.0.0.1' },
    ],
  },
];
