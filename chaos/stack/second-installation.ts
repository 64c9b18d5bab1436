import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client, type Connection } from '@temporalio/client';
import { setUpServer } from '../../client/setup-server.js';
import { jobDataConverter } from '../../client/connect.js';
import { JobClient } from '../../client/job-client.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import { writeKeyPair } from '../../test/end-to-end/key-pair.js';
import type { Sources } from '../oracle/gather.js';
import type { Part } from './part.js';
import { GOOGLE_PROJECT, type Ports, workerPart } from './parts.js';
import type { Tier } from './tier.js';

const NAMESPACE = 'theirs';
/** The name by which its worker dials the cloud. The cloud's journal keeps it, and so tells whose call each one was. */
const CLOUD_HOST = 'localhost';
const RETENTION_MS = 86_400_000;

/** Another team's jobctl in the same Google project, with its own owner, namespace, bucket and worker. */
export interface SecondInstallation {
  readonly worker: Part;
  readonly client: Client;
  readonly jobs: JobClient;
  readonly sources: Sources;
  /** `host` of its calls in the cloud's journal. */
  readonly host: string;
}

export async function startSecond(
  parts: { readonly directory: string; readonly ports: Ports; readonly tier: Tier; readonly sources: Sources },
  connection: Connection,
): Promise<SecondInstallation> {
  const { ports, tier, sources } = parts;
  const directory = join(parts.directory, 'theirs');
  mkdirSync(directory);
  const place = { endpoint: sources.store, bucket: `${sources.bucket}-theirs`, projectId: GOOGLE_PROJECT };
  await ensureBucket(place);
  const client = new Client({ connection, namespace: NAMESPACE, dataConverter: await jobDataConverter({}) });
  const setup = { connection, client, namespace: NAMESPACE, store: createStore(place), taskQueue: 'jobctl' };
  for await (const { what, state, detail } of setUpServer({ ...setup, retentionMs: RETENTION_MS, isCloud: false }))
    if (state === 'by-hand') throw new Error(`setting up the second installation: ${what}: ${detail}`);
  const worker = workerPart(directory, ports, tier, {
    ...{ name: 'worker of theirs', namespace: NAMESPACE, bucket: place.bucket },
    ...{ healthPort: ports.health3, cloudHost: CLOUD_HOST, keys: writeKeyPair(directory) },
  });
  const env = { ...sources.jobctl.env, TEMPORAL_NAMESPACE: NAMESPACE, JOBCTL_BUCKET: place.bucket };
  return {
    worker,
    client,
    jobs: await JobClient.connect({ client }),
    sources: { ...sources, bucket: place.bucket, jobctl: { ...sources.jobctl, env }, machines: [] },
    host: `${CLOUD_HOST}:${ports.tpu}`,
  };
}
