import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { splitReferences } from '../cloud/codec/codec-key.js';
import { issueWords } from '../contract/issue-words.js';
import { storeSetting } from '../contract/store-setting.js';
import { fileErrorWords, notJson } from '../domain/error-words.js';
import { QUOTA_NAME, QUOTA_NAME_RULE } from '../domain/identity.js';
import { storePlaceProblem, storesProblem } from '../domain/store-place.js';
import { systemBucketProblem } from '../domain/system-bucket.js';
import { TASK_QUEUE } from '../domain/task-queue.js';
import { issuerProblems } from './identity/issuer-rules.js';

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

/** An issuer of OpenID Connect ID tokens whose word is taken. */
const issuer = z.strictObject({
  /** As the claim `iss` has it: https://accounts.google.com. Its keys and endpoints are discovered below it. */
  issuer: safeUrl,
  /** What `aud` must be one of; the first is the client of `jobctl login`. */
  audiences: z.array(z.string().min(1)).min(1),
  /** The client's secret, by reference (env:NAME, file:///PATH), for issuers that want one of command-line tools, as Google does. */
  clientSecret: z.string().min(1).optional(),
  scopes: z.array(z.string()).default(['openid', 'email', 'profile']),
  /** The claim `hd` must be one of these (Google Workspace). Absent: not looked at. */
  hostedDomains: z.array(z.string().min(1)).min(1).optional(),
  /** Domains of e-mail addresses. Absent: any. */
  emailDomains: z.array(z.string().min(1)).min(1).optional(),
  /** What a subject is called in jobs and quota files: its verified address, what stands before the @ (with one of `emailDomains`), or `sub`. */
  user: z.enum(['email', 'email-local-part', 'sub']).default('email'),
  /** `null`: none are taken. */
  groupsClaim: z.string().min(1).nullable().default('groups'),
  /** Before the name of each group: what pool files call it. Needed where several issuers give groups. */
  groupPrefix: z
    .string()
    .regex(/^[\w.@+/-]{1,60}$/, 'letters, digits and . _ - + @ /, 60 at most')
    .optional(),
  /** Whoever is in none of these groups is not let in, by their names in the token. Absent: everybody with a token. */
  allowedGroups: z.array(z.string().min(1)).min(1).optional(),
  /** Everybody who has an account there is meant: for issuers at which the whole world has one. */
  anyAccount: z.boolean().default(false),
  /** Ids that are services, beside addresses that end in .gserviceaccount.com. */
  services: z.array(z.string().min(1)).default([]),
});
export type IssuerConfig = z.output<typeof issuer>;

const schema = z
  .strictObject({
    temporal: z
      .strictObject({
        address: z.string().optional(),
        namespace: z.string().optional(),
        /** As the worker's: the authority of the certificate, the name in it, an API key, whose file is read again. */
        tlsCaFile: z.string().min(1).optional(),
        tlsServerName: z.string().min(1).optional(),
        apiKeyFile: z.string().min(1).optional(),
        /** `false` in the clear, also with an API key. */
        tls: z.boolean().optional(),
      })
      .default({}),
    taskQueue: z.string().min(1).default(TASK_QUEUE),
    store: z.strictObject({
      endpoint: z.url().optional(),
      bucket: storeSetting,
      /** Absent: refused below, with what to do. */
      systemBucket: z.string().default(''),
      /** Of the audit log alone, so that it can have a locked retention. Absent: the system bucket. */
      auditBucket: storeSetting.optional(),
    }),
    /** As the worker's. */
    googleProject: z.string().min(1).optional(),
    /** The same as in the worker's configuration: what is in force is read from where the worker reads it. */
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
    /** The worker's references of the secrets that keys of jobs are made from (docs/adr/0077). Absent: no login is given. */
    ssh: z
      .strictObject({ jobKeySecret: keyReference.optional(), formerJobKeySecrets: keyReferences.optional() })
      .default({}),
    /** The private key that signs what is submitted: PKCS #8 PEM, by file:///PATH or env:NAME; workers name its public half by `id`. */
    signingKey: z.strictObject({ id: z.string().regex(/^[\w.-]{1,64}$/), key: z.string().min(1) }),
    issuers: z.array(issuer).min(1),
    listen: z
      .strictObject({
        host: z.string().default('127.0.0.1'),
        port: z.int().min(0).max(65_535).default(7480),
        /** PEM files. Absent: plain HTTP, which only loopback or a proxy of one's own may reach. */
        tls: z.strictObject({ certFile: z.string(), keyFile: z.string() }).optional(),
        /** The names and addresses that `Host` may say, with the port if it is not 443. Absent: loopback and `publicUrl`. */
        hosts: z.array(z.string()).default([]),
        /** Proxies whose X-Forwarded-For is believed, as addresses or networks. Without `tls` nobody else may send a token. */
        trustProxies: z.array(z.string()).default([]),
        /** What reads /metrics from elsewhere than this computer, as a bearer token: file:///PATH or env:NAME. Absent: nothing. */
        metricsToken: keyReference.optional(),
      })
      .prefault({}),
    /** Where clients reach it. */
    publicUrl: safeUrl.optional(),
    limits: z
      .strictObject({
        requestsPerMinute: z.int().min(1).default(1_200),
        submitsPerMinute: z.int().min(1).default(60),
        /** Calls of one address without a valid login. */
        refusedLoginsPerMinute: z.int().min(1).default(120),
        bodyBytes: z
          .int()
          .min(1_024)
          .default(4 * 1024 * 1024),
        uploadBytes: z
          .int()
          .min(1_024)
          .default(64 * 1024 * 1024),
        /** Of a file that a client brings to the store itself. */
        directUploadBytes: z
          .int()
          .min(0)
          .default(4 * 1024 * 1024 * 1024),
        /** Bytes of files that one subject brings to one replica within a day. */
        uploadBytesPerDay: z
          .int()
          .min(1_024)
          .default(256 * 1024 * 1024 * 1024),
        /** Logs that one subject follows at a time. */
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
    for (const { path, message } of issuerProblems(config.issuers))
      context.addIssue({ code: 'custom', path: [...path], message });
  });

/** The configuration of `jobctl serve` (docs/serve.md). */
export type ServerConfig = z.output<typeof schema>;

/** What is wrong with it: where, which value, what is allowed. */
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
