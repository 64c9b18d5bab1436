import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { generateKeyPairSync } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { PoolFileReader } from '../../activities/operator-file.js';
import { poolSource } from '../../activities/pool-source.js';
import { quotaSource } from '../../activities/quota-source.js';
import { GroupNotFound, JobInvalid, JobNotFound, MachineNotFound, ScheduleNotFound } from '../../client/errors.js';
import type { GroupFilter, GroupRow } from '../../client/group-rows.js';
import type { RetryOptions } from '../../client/groups.js';
import type { JobRow } from '../../client/job-rows.js';
import type { MachinesCall } from '../../client/pool-client.js';
import type { ScheduleRow } from '../../client/schedule-rows.js';
import type { ScheduleWish } from '../../client/schedule-wish.js';
import type { Submission } from '../../client/submissions.js';
import { bucketPlace, splitStore } from '../../cloud/store/open-store.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { AuditLine } from '../../contract/api/callers.js';
import type { JobInput } from '../../contract/job.js';
import { JOB_VERBS } from '../../contract/job-requests.js';
import { jobOwnerObject } from '../../domain/store-layout.js';
import { Gate, StandingRights } from '../../server/access/gate.js';
import { JobFactsSource, PoolRules } from '../../server/access/facts.js';
import { createApp } from '../../server/app.js';
import { AuditLog } from '../../server/audit/audit-log.js';
import type { App } from '../../server/bare-app.js';
import { loadServerConfig, type ServerConfig } from '../../server/config.js';
import type * as DearWorks from '../../server/dear-work.js';
import { DirectUploads } from '../../server/direct-uploads.js';
import { TokenVerifier } from '../../server/identity/verifier.js';
import { LogFeeds } from '../../server/log-feeds.js';
import { ServerMetrics, type Services, SubmissionSigner } from '../../server/services.js';
import { load } from '../built.js';
import { type RehearsedCloud, startRehearsedCloud } from '../cloud/rehearsed-cloud.js';
import { CLIENT_ID, TestIssuer } from './issuer.js';
import { ACCESS, type Answer, QUOTA } from './server-stack.js';

const RIGHTS_LOOK_MS = 100;
const BUCKETS = { bucket: 'gated', systemBucket: 'gated-system' };

export interface GatedAppOptions {
  readonly limits?: Partial<ServerConfig['limits']>;
  readonly replicas?: number;
  /** Of an issuer, beside what it must have. */
  readonly issuer?: object;
  /** Before it listens. */
  readonly more?: (app: App) => void;
}

const scheduleOf = ({ id: name, user, project, pool, slice, why }: JobRow) =>
  ({
    ...{ name, user, project, pool, slice, cron: '30 2 * * *', timeZone: 'UTC', overlap: 'skip', createdAt: 1 },
    ...{ isPaused: false, next: [2] },
    last: { job: `${name}-20261130t0230`, at: 1, state: 'refused', ...(why !== undefined && { why }) },
  }) as const satisfies ScheduleRow;

/**
 * All of `jobctl serve` but Temporal: issuer, tokens, gate, pool files, audit log and store are real. Of jobs it knows those of
 * `rows`, and starts none; what asks Temporal for more fails.
 */
export class GatedApp {
  readonly issuer: TestIssuer;
  readonly store: StorePort;
  readonly rows = new Map<string, JobRow>();
  /** How often each object was read, by all replicas. */
  readonly reads = new Map<string, number>();
  /** Reasons for which a worker refused jobs that are over. */
  readonly refusals = new Map<string, string>();
  /** Inputs of groups, for a retry. */
  readonly submissions = new Map<string, JobInput>();
  /** With which all replicas sign. */
  readonly signer = new SubmissionSigner('k', generateKeyPairSync('ed25519').privateKey);
  /** What jobs were asked for. */
  readonly told: object[] = [];
  readonly apps: App[] = [];
  /** Of the replica that was started last. */
  rights: StandingRights | undefined;
  readonly urls: string[] = [];
  readonly #cloud: RehearsedCloud;
  readonly #folder: string;
  readonly #dear: DearWorks.DearWork;

  private constructor(issuer: TestIssuer, cloud: RehearsedCloud, store: StorePort, dear: DearWorks.DearWork) {
    this.issuer = issuer;
    this.#cloud = cloud;
    this.store = store;
    this.#dear = dear;
    this.#folder = mkdtempSync(join(tmpdir(), 'gated-app-'));
  }

  static async start(options: GatedAppOptions = {}): Promise<GatedApp> {
    const [issuer, cloud] = await Promise.all([TestIssuer.start(), startRehearsedCloud()]);
    const open = async (bucket: string): Promise<StorePort> => {
      const place = { endpoint: cloud.storeEndpoint, bucket, projectId: 'p' };
      await ensureBucket(place);
      return createStore(place);
    };
    const [jobs, system] = await Promise.all([open(BUCKETS.bucket), open(BUCKETS.systemBucket)]);
    // As dear-work.test.ts: threads of sources would each compile them.
    const { DearWork } = await load<typeof DearWorks>('server/dear-work');
    const dear = new DearWork({ mostMs: 300_000, mostMsPerMinute: 300_000 });
    const gated = new GatedApp(issuer, cloud, splitStore(jobs, system), dear);
    gated.writeFiles(QUOTA, ACCESS);
    for (let replica = 0; replica < (options.replicas ?? 1); replica++) await gated.#startReplica(options);
    return gated;
  }

  writeFiles(quota: string, pool: string): void {
    writeFileSync(this.#file('quota.toml'), quota);
    writeFileSync(this.#file('pool.toml'), pool);
  }

  editQuota(edit: (text: string) => string): void {
    this.writeFiles(
      edit(readFileSync(this.#file('quota.toml'), 'utf8')),
      readFileSync(this.#file('pool.toml'), 'utf8'),
    );
  }

  #file = (name: string): string => join(this.#folder, name);

  async #startReplica({ limits = {}, issuer, more }: GatedAppOptions): Promise<void> {
    writeFileSync(
      this.#file('serve.json'),
      JSON.stringify({
        store: BUCKETS,
        googleProject: 'p',
        signingKey: { id: 'k', key: 'env:NONE' },
        issuers: [{ issuer: this.issuer.url, audiences: [CLIENT_ID], services: ['launcher@example.org'], ...issuer }],
        limits,
      }),
    );
    const config = loadServerConfig(this.#file('serve.json'));
    const app = await createApp(config, this.#services(config), pino({ level: 'silent' }));
    more?.(app);
    this.apps.push(app);
    this.urls.push(await app.listen({ host: '127.0.0.1', port: 0 }));
  }

  get storeEndpoint(): string {
    return this.#cloud.storeEndpoint;
  }

  /** The store, with its readings counted. */
  #counted(): StorePort {
    const { store, reads } = this;
    return new Proxy(store, {
      get: (_, key) => {
        const value: unknown = Reflect.get(store, key);
        if (typeof value !== 'function') return value;
        return (...words: readonly unknown[]): unknown => {
          if (key === 'read') reads.set(String(words[0]), (reads.get(String(words[0])) ?? 0) + 1);
          return Reflect.apply(value, store, words);
        };
      },
    });
  }

  #services(config: ServerConfig): Services {
    const store = this.#counted();
    const places = { default: { quotaFile: this.#file('quota.toml'), poolFile: this.#file('pool.toml') } };
    const files = new PoolFileReader({ places, store, openBucket: () => store });
    const rules = new PoolRules(poolSource(files), quotaSource(files, store));
    const client = {
      row: async (id: string): Promise<JobRow> => {
        const row = this.rows.get(id);
        if (row === undefined) throw new JobNotFound(id, 'here');
        return row;
      },
      wait: async (id: string) => {
        const refusal = this.refusals.get(id);
        if (refusal !== undefined) throw new JobInvalid(refusal);
        return this.rows.get(id)?.outcome;
      },
      describe: async (id: string) => ({ ...this.rows.get(id), attempt: 1, slices: [], events: [] }),
      find: async () => [...this.rows.values()],
      count: async () => ({ total: this.rows.size, open: 0, ended: {} }),
      groups: async ({ user }: GroupFilter, most: number): Promise<readonly GroupRow[]> =>
        [...this.rows.values()]
          .filter((row) => user === undefined || row.user === user)
          .slice(0, most)
          .map(({ id, user: of, project, pool, submittedAt }) => ({
            ...{ id, name: id, user: of, project, pool, submittedAt, members: 2 },
            ...{ counts: { waiting: 2 }, awaited: 'prep to succeed' },
          })),
      // Each job of `rows` is also a group of its id.
      group: async (id: string): Promise<GroupRow> => {
        const row = this.rows.get(id);
        if (row === undefined) throw new GroupNotFound(id, 'here');
        const { user, project, pool, submittedAt } = row;
        return { ...{ id, name: id, user, project, pool, submittedAt }, members: 2 };
      },
      describeGroup: async (id: string) => ({
        ...{ group: id, array: { axes: [{ name: 'n', from: 1, to: 2 }], exclude: [], isFailFast: false, size: 2 } },
        ...{ state: { marks: 'sf', rounds: '00' }, notes: [] },
      }),
      cancelGroup: async (id: string, asker: object) => {
        this.told.push({ id, ...asker });
        return 'cancelling';
      },
      retryGroup: async (id: string, by: string, { authorize, ...wish }: RetryOptions) => {
        const submission = this.submissions.get(id);
        const authorization = submission && authorize?.(`${id}-r1`, submission);
        this.told.push({ verb: 'retryGroup', id, by, ...wish, ...(authorization && { authorization }) });
        return 'they run again';
      },
      beginGroup: async (id: string, by: string, wish: object) => {
        this.told.push({ verb: 'beginGroup', id, by, ...wish });
        return 'its members begin';
      },
      stopGroup: async (id: string, by: string, wish: object) => {
        this.told.push({ verb: 'stopGroup', id, by, ...wish });
        return 'it is stopped';
      },
      resumeGroup: async (id: string, by: string, wish: object) => {
        this.told.push({ verb: 'resumeGroup', id, by, ...wish });
        return 'it goes on';
      },
      // Each job of `rows` is also a schedule of its id.
      schedules: () => ({
        create: async ({ authorize, ...wish }: ScheduleWish) => {
          const { job, user } = wish;
          const authorization = authorize?.(`schedule/${wish.name}`, { v: 1, job, ...(user && { user }) });
          this.told.push({ verb: 'create', ...wish, authorization });
          return { name: wish.name, isNew: !this.rows.has(wish.name), spec: wish.spec, next: [1] };
        },
        list: async () => [...this.rows.values()].map(scheduleOf),
        view: async (name: string) => {
          const row = this.rows.get(name);
          if (row === undefined) throw new ScheduleNotFound(name, 'here');
          const last = scheduleOf(row).last;
          return { ...scheduleOf(row), firings: [last], fired: 1, overlapped: 0, waiting: 0, missed: 0 };
        },
        ...Object.fromEntries(
          ['pause', 'resume', 'trigger', 'delete'].map((verb) => [
            verb,
            async (...given: readonly unknown[]) => {
              this.told.push({ verb, given });
              return verb === 'trigger' ? { message: 'it fires', job: 'mine-20261130t0200' } : 'noted';
            },
          ]),
        ),
      }),
      machines: (pool: string) => ({
        call: async ({ names, ...asked }: MachinesCall) => {
          this.told.push({ pool, names, ...asked });
          if (names.includes('none')) throw new MachineNotFound(`pool ${pool} has no machine none; it has box-1`);
          const state = asked.verb === 'drain' ? 'drained' : 'free';
          return {
            machines: [{ name: 'box-1', address: '10.0.0.1:22', user: 'ann', accelerators: { h100: 8 }, state }],
          };
        },
      }),
      openSlices: async () => [],
      deletions: async () => [],
      submit: async ({ name, spec }: Submission) => ({ id: name, isNew: true, spec }),
      polls: async (taskQueue = 'jobctl') => ({ taskQueue }),
      ...Object.fromEntries(
        JOB_VERBS.map((verb) => [
          verb,
          async (id: string, by: string, wish: object) => `noted ${this.told.push({ verb, id, by, ...wish })}`,
        ]),
      ),
    } as unknown as Services['client'];
    const facts = new JobFactsSource(client, store);
    const audit = new AuditLog(store);
    const metrics = new ServerMetrics();
    const gate = new Gate({ rules, facts, audit, decided: (verb, decision) => metrics.decided(verb, decision) });
    return {
      ...{ client, store, facts, rules, audit, metrics, gate },
      rights: (this.rights = new StandingRights(gate, RIGHTS_LOOK_MS)),
      secrets: undefined,
      verifier: new TokenVerifier(config.issuers),
      signer: this.signer,
      jobKeys: { secretIds: [], find: () => undefined } as unknown as Services['jobKeys'],
      feeds: new LogFeeds(client, store, {
        perSubject: config.limits.followedLogs,
        changed: (count) => metrics.followers(count),
      }),
      dear: this.#dear,
      uploads: new DirectUploads(store),
      placeOf: (bucket, as) => bucketPlace(bucket, { ...as, endpoint: this.#cloud.storeEndpoint }),
      notReady: async () => undefined,
    };
  }

  /** As a worker that accepted the job leaves it. */
  async addJob(id: string, owner: string, project: string, more: Partial<JobRow> = {}): Promise<void> {
    const row = { id, user: owner, project, pool: 'default', slice: 'v5litepod-1', phase: 'running' as const };
    const times = { phaseSince: 1, submittedAt: 1, attempts: 1 };
    this.rows.set(id, { ...row, ...times, ...more });
    await this.store.replace(
      jobOwnerObject(id),
      JSON.stringify({ user: owner, project, pool: 'default' }),
      'application/json',
    );
  }

  async call(name: string, method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Answer> {
    const {
      groups = [],
      replica = 0,
      token = await this.issuer.token({ email: `${name}@example.org`, groups }),
    } = options;
    const json = body === undefined ? {} : { 'content-type': 'application/json' };
    const response = await fetch(`${this.urls[replica]}${path}`, {
      method,
      headers: { ...(token === '' ? {} : { authorization: `Bearer ${token}` }), ...json },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    const { status, headers } = response;
    return { status, headers, text, body: isJson ? (JSON.parse(text) as Answer['body']) : {} };
  }

  /** What the audit log has of a call, or of all. */
  async lines(of?: Answer): Promise<readonly AuditLine[]> {
    const id = of?.headers.get('x-request-id');
    const query = { since: 0, until: Date.now() + 1_000, limit: 10_000 };
    const matches = ({ requestId }: AuditLine): boolean => of === undefined || requestId === id;
    return (await new AuditLog(this.store).read({ ...query, matches })).lines;
  }

  async stop(): Promise<void> {
    for (const app of this.apps) await app.close();
    await this.#dear.close();
    await this.issuer.stop();
    await this.#cloud.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export interface CallOptions {
  readonly groups?: readonly string[];
  readonly replica?: number;
  /** Empty: none. */
  readonly token?: string;
}
