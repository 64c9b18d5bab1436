import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';
import { splitReferences } from '../cloud/codec/codec-key.js';
import { issueWords, storeSetting } from '../contract/issue-words.js';
import { fileErrorWords, notJson } from '../domain/errors.js';
import { QUOTA_NAME, QUOTA_NAME_RULE } from '../domain/identity.js';
import { storePlaceProblem, storesProblem, systemBucketProblem } from '../domain/store-place.js';
import { TASK_QUEUE } from '../domain/temporal-server.js';
import { issuerProblems, pageProblems } from './identity/issuer-rules.js';
import { fileURLToPath } from 'node:url';
import { modeForOthers } from '../domain/secrets.js';

const poolName = z.string().regex(QUOTA_NAME, QUOTA_NAME_RULE);
const keyReference = z.string().min(1);
const keyReferences = z.union([z.array(keyReference), z.string().transform(splitReferences)]);
const poolPlaces = z.strictObject({ quotaFile: z.string().min(1).optional(), poolFile: z.string().min(1).optional() });
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];
const isSafe = (url: string): boolean => {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.includes(hostname));
};
const safeUrl = z.string().refine(isSafe, {
  error: 'an https address; http is for loopback addresses alone',
});

/** A trusted issuer of OpenID Connect ID tokens. */
const issuer = z.strictObject({
  /** The value of the claim `iss`, such as https://accounts.google.com. Its keys and endpoints are discovered below it. */
  issuer: safeUrl,
  /** `aud` must be one of these; the first is the client of `jobctl login`. */
  audiences: z.array(z.string().min(1)).min(1),
  /**
   * Reference to the client's secret (env:NAME, file:///PATH). Some issuers, such as Google, demand one of command-line tools.
   */
  clientSecret: z.string().min(1).optional(),
  scopes: z.array(z.string()).default(['openid', 'email', 'profile']),
  /** The claim `hd` must be one of these (Google Workspace). Absent: the claim is not checked. */
  hostedDomains: z.array(z.string().min(1)).min(1).optional(),
  /** Domains of e-mail addresses. Absent: any. */
  emailDomains: z.array(z.string().min(1)).min(1).optional(),
  /** A subject's name in jobs and quota files: its verified address, the part before the @ (with `emailDomains`), or `sub`. */
  user: z.enum(['email', 'email-local-part', 'sub']).default('email'),
  /** `null`: groups are ignored. */
  groupsClaim: z.string().min(1).nullable().default('groups'),
  /** Prefix of each group's name in pool files. Needed if several issuers give groups. */
  groupPrefix: z
    .string()
    .regex(/^[\w.@+/-]{1,60}$/, 'letters, digits and . _ - + @ /, 60 at most')
    .optional(),
  /** A subject must be in one of these groups, by their names in the token. Absent: every subject with a token is let in. */
  allowedGroups: z.array(z.string().min(1)).min(1).optional(),
  /** Confirms that any account of the issuer may log in, for issuers at which everyone can have an account. */
  anyAccount: z.boolean().default(false),
  /** Ids of services, beside addresses that end in .gserviceaccount.com. */
  services: z.array(z.string().min(1)).default([]),
  /** The client with which people log in by the page (docs/adr/0175). Absent: the page takes pasted tokens of this issuer alone. */
  page: z
    .strictObject({
      /** One of `audiences`. */
      clientId: z.string().min(1),
      /** Reference to its secret (env:NAME, file:///PATH), which stays with the server. Absent: a public client. */
      clientSecret: keyReference.optional(),
      /** Its name in the page and in its redirect URI. Needed if several issuers have a login in the page. */
      name: z
        .string()
        .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'small letters, digits and - , 40 at most')
        .optional(),
    })
    .optional(),
});
export type IssuerConfig = z.output<typeof issuer>;

const schema = z
  .strictObject({
    temporal: z
      .strictObject({
        address: z.string().optional(),
        namespace: z.string().optional(),
        /** The same as in the worker: authority of the certificate, name in it, and API key. The key's file is read again. */
        tlsCaFile: z.string().min(1).optional(),
        tlsServerName: z.string().min(1).optional(),
        apiKeyFile: z.string().min(1).optional(),
        /** `false`: without TLS, even with an API key. */
        tls: z.boolean().optional(),
      })
      .default({}),
    taskQueue: z.string().min(1).default(TASK_QUEUE),
    store: z.strictObject({
      endpoint: z.url().optional(),
      bucket: storeSetting,
      /** If absent, the configuration is refused with a remedy. */
      systemBucket: z.string().default(''),
      /** Bucket of the audit log alone, so that it can have a locked retention. Absent: the system bucket. */
      auditBucket: storeSetting.optional(),
    }),
    /** The same as in the worker's configuration. */
    googleProject: z.string().min(1).optional(),
    /** The same as in the worker's configuration, because both read the files in force from the same place. */
    pool: poolName.default('default'),
    quotaFile: z.string().min(1).optional(),
    poolFile: z.string().min(1).optional(),
    pools: z.record(poolName, poolPlaces).default({}),
    secretStore: z.string().min(1).optional(),
    codec: z
      .strictObject({
        key: keyReference.optional(),
        decodeKeys: keyReferences.optional(),
      })
      .optional(),
    /** The worker's references to the secrets of job keys (docs/adr/0077). Absent: the server gives no login to hosts. */
    ssh: z
      .strictObject({ jobKeySecret: keyReference.optional(), formerJobKeySecrets: keyReferences.optional() })
      .default({}),
    /** The private key that signs submissions: PKCS #8 PEM, by file:///PATH or env:NAME. Workers name its public key by `id`. */
    signingKey: z.strictObject({ id: z.string().regex(/^[\w.-]{1,64}$/), key: z.string().min(1) }),
    issuers: z.array(issuer).min(1),
    listen: z
      .strictObject({
        host: z.string().default('127.0.0.1'),
        port: z.int().min(0).max(65_535).default(7480),
        /** PEM files. Absent: plain HTTP. Then only this computer and the installation's own proxy may reach the server. */
        tls: z.strictObject({ certFile: z.string(), keyFile: z.string() }).optional(),
        /** Names and addresses that `Host` may contain, with the port if it is not 443. Absent: loopback and `publicUrl`. */
        hosts: z.array(z.string()).default([]),
        /**
         * Proxies whose X-Forwarded-For is trusted, as addresses or networks. Without `tls`, tokens are accepted only from them
         * and from this computer.
         */
        trustProxies: z.array(z.string()).default([]),
        /** Bearer token for reading /metrics from elsewhere: file:///PATH or env:NAME. Absent: only this computer may read it. */
        metricsToken: keyReference.optional(),
      })
      .prefault({}),
    /** The server's address for clients. */
    publicUrl: safeUrl.optional(),
    limits: z
      .strictObject({
        requestsPerMinute: z.int().min(1).default(1_200),
        submitsPerMinute: z.int().min(1).default(60),
        /** Calls without a valid login that one address may make per minute. */
        refusedLoginsPerMinute: z.int().min(1).default(120),
        bodyBytes: z
          .int()
          .min(1_024)
          .default(4 * 1024 * 1024),
        uploadBytes: z
          .int()
          .min(1_024)
          .default(64 * 1024 * 1024),
        /** Largest file, in bytes, that a client may send to the store itself. */
        directUploadBytes: z
          .int()
          .min(0)
          .default(4 * 1024 * 1024 * 1024),
        /** Bytes of files that one subject may send through one replica per day. */
        uploadBytesPerDay: z
          .int()
          .min(1_024)
          .default(256 * 1024 * 1024 * 1024),
        /** Logs that one subject may follow at the same time. */
        followedLogs: z.int().min(1).default(50),
      })
      .prefault({}),
    logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  })
  .superRefine((config, context) => {
    const { bucket, systemBucket, auditBucket } = config.store;
    const ofSystem = systemBucketProblem(bucket, systemBucket === '' ? undefined : systemBucket);
    if (ofSystem !== undefined)
      context.addIssue({ code: 'custom', path: ['store', 'systemBucket'], message: ofSystem });
    const isNamed = systemBucket !== '' && ofSystem === undefined;
    const ofPlace = isNamed ? storePlaceProblem(systemBucket) : undefined;
    if (ofPlace !== undefined) context.addIssue({ code: 'custom', path: ['store', 'systemBucket'], message: ofPlace });
    const together = isNamed ? storesProblem(config.store) : undefined;
    if (together !== undefined)
      context.addIssue({ code: 'custom', path: ['store', together.field], message: together.text });
    if (auditBucket === bucket)
      context.addIssue({
        code: 'custom',
        path: ['store', 'auditBucket'],
        message: `'${auditBucket}' is the job bucket too, which hosts write: name another, or none`,
      });
    for (const { path, message } of [...issuerProblems(config.issuers), ...pageProblems(config)])
      context.addIssue({ code: 'custom', path: [...path], message });
  });

/** The configuration of `jobctl serve` (docs/serve.md). */
export type ServerConfig = z.output<typeof schema>;

/** Mistakes in the server's configuration: the field, its value, and the values allowed. */
export class ServerConfigError extends Error {
  override readonly name = 'ServerConfigError';
}

/** @param file JSON @throws ServerConfigError naming every wrong field */
export function loadServerConfig(file: string): ServerConfig {
  const parsed = schema.safeParse(readJson(file));
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => `  ${issue.path.join('.') || '(the whole)'}: ${issueWords(issue)}`);
  throw new ServerConfigError(
    `${file}: the server's configuration is wrong:\n${lines.join('\n')}\n  docs/serve.md lists every field`,
  );
}

function readJson(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ServerConfigError(`${file}: the server's configuration cannot be read: ${fileErrorWords(error)}`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ServerConfigError(`${file}: is ${notJson(error, text)}`);
  }
}

/**
 * Reads the secret that a reference names. The configuration contains only references.
 * @param reference file:///PATH of a file that only its owner can read, or env:NAME
 * @param field for messages
 * @throws ServerConfigError, which never contains the secret
 */
export function secretText(reference: string, field: string): string {
  if (reference.startsWith('env:')) {
    const value = process.env[reference.slice('env:'.length)];
    if (value) return value;
    throw new ServerConfigError(`${field}: ${reference}: this environment variable is not set`);
  }
  if (!reference.startsWith('file:'))
    throw new ServerConfigError(`${field}: is no reference: wanted file:///PATH or env:NAME`);
  try {
    const path = fileURLToPath(reference);
    const others = modeForOthers(statSync(path).mode);
    if (others !== undefined)
      throw new ServerConfigError(`${field}: ${path} can be read by others (mode ${others})\n  chmod 600 ${path}`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof ServerConfigError) throw error;
    throw new ServerConfigError(`${field}: ${reference} cannot be read: ${fileErrorWords(error)}`);
  }
}
