import type { JobInput, JobMemo, JobNotice, JobView } from '../../contract/job.js';
import type { Outcome } from '../../domain/job-state.js';

const SUCCEEDED = {
  result: 'succeeded',
  exitCode: 0,
  attempts: 1,
  preemptions: 0,
  submittedAt: 1795276800000,
  startedAt: 1795276890000,
  endedAt: 1795277400000,
} satisfies Outcome;

/**
 * Every JSON value of docs/contract.md, by the name that its block has there. The compiler holds them to the types, a test holds
 * the document to them, another starts the inputs and holds what comes back to the rest.
 */
export const EXAMPLES = {
  'least input': {
    v: 1,
    job: {
      tpu: { accelerator: 'v5litepod-8', zone: 'us-central1-a' },
      command: { run: 'echo hello' },
    },
  } satisfies JobInput,

  'full input': {
    v: 1,
    user: 'alice',
    source: '# the file as a person wrote it; kept with the job, never read\n',
    files: {},
    job: {
      name: 'train',
      project: 'vision',
      priority: 2,
      tpu: { accelerator: 'v5litepod-8', zone: 'us-central1-a', allocation_mode: 'queued-resources', pricing: 'spot' },
      env: { LEARNING_RATE: 0.001 },
      command: { run: 'echo "learning rate $LEARNING_RATE"' },
      notify: { to: { workflow: { id: 'my-workflow', signal: 'jobEnded' } } },
    },
  } satisfies JobInput,

  'outcome of success': SUCCEEDED,

  'outcome of failure': {
    result: 'failed',
    exitCode: 3,
    cause: { by: 'task', message: 'the command exited with code 3 on host 0', slice: 0, host: 0 },
    attempts: 1,
    preemptions: 0,
    submittedAt: 1795276800000,
    startedAt: 1795276890000,
    endedAt: 1795277400000,
  } satisfies Outcome,

  notice: {
    v: 1,
    job: 'train-7f3k',
    run: '019aa3d2-5d5c-7b1e-9c1f-0e8e3c9d2a11',
    result: 'succeeded',
    outcome: SUCCEEDED,
  } satisfies JobNotice,

  'notice of a refusal': {
    v: 1,
    job: 'train-7f3k',
    run: '019aa3d2-5d5c-7b1e-9c1f-0e8e3c9d2a11',
    result: 'refused',
    message: "priority: '3' is not a whole number from 1 to 5",
  } satisfies JobNotice,

  memo: {
    name: 'train',
    slice: 'v5litepod-8',
    contentHash: '0c8a3e1f5b7d2046a19c3d5e7f60',
    isVerified: false,
    label: 'REHEARSAL',
    submittedAt: 1795276800000,
    attempts: 1,
    run: '019aa3d2-5d5c-7b1e-9c1f-0e8e3c9d2a11',
    phaseSince: 1795277400000,
    why: 'the command ended with exit code 0',
    outcome: SUCCEEDED,
  } satisfies JobMemo,

  view: {
    id: 'train-7f3k',
    run: '019aa3d2-5d5c-7b1e-9c1f-0e8e3c9d2a11',
    spec: {
      name: 'v5litepod-8',
      pool: 'default',
      priority: 3,
      slices: 1,
      env: {},
      tpu: {
        allocationMode: 'tpu-vm',
        pricing: 'spot',
        tags: [],
        metadata: {},
        labels: {},
        externalIps: true,
        accelerator: 'v5litepod-8',
        zones: ['us-central1-a'],
        runtimeVersion: 'v2-alpha-tpuv5-lite',
      },
      modules: ['command'],
      command: { run: 'echo hello', hosts: 'all' },
      graceSeconds: 30,
      retries: { preemption: 20, infrastructure: 5, task: 0, requested: 20 },
    },
    project: 'none',
    label: 'REHEARSAL',
    phase: 'succeeded',
    phaseSince: 1795277400000,
    why: 'the command ended with exit code 0',
    submittedAt: 1795276800000,
    attempt: 1,
    preemptions: 0,
    slices: [
      {
        index: 0,
        generation: 1,
        ref: {
          kind: 'cloud-tpu',
          googleProject: 'my-project',
          zone: 'us-central1-a',
          name: 'jc-train-7f3k-g1',
          mode: 'tpu-vm',
        },
        state: 'ready',
        uid: '625657362928716936',
        hosts: [{ reach: 'ssh' as const, index: 0, internalIp: '10.128.0.7', externalIp: '34.1.2.3' }],
        detail: 'ready',
        since: 1795276860000,
      },
    ],
    login: {
      user: 'alice',
      publicKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl jobctl',
    },
    granted: { tier: 0 },
    usage: {
      unit: 'chip',
      at: 1795277400000,
      parts: { waiting: 480, setUp: 240, useful: 4080, lost: 0, restart: 0, idle: 8, draining: 0 },
      charged: 4328,
      lost: 'none',
      places: [{ zone: 'us-central1-a', pricing: 'spot', charged: 4328, usd: 0.294424 }],
      usd: 0.294424,
      prices: ["jobctl's list of public prices, 2026-11"],
    },
    outcome: SUCCEEDED,
    events: [
      { at: 1795276800000, kind: 'submitted', facts: {}, text: 'submitted' },
      {
        at: 1795276890000,
        phase: 'running',
        kind: 'running',
        facts: { attempt: 1, hosts: 1, zone: 'us-central1-a' },
        text: 'running: attempt 1 on 1 host in us-central1-a',
      },
    ],
  } satisfies JobView,
} as const;
