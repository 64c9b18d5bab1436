/** A way in which the provider takes a slice, and the state of its zone. */
export interface Kind {
  readonly name: 'notice' | 'without' | 'silent-quiet' | 'silent-busy';
  readonly title: string;
  /** Settings of the rehearsal, merged over `CLOUD`. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Fields for /admin/preempt, beside the name. */
  readonly how: Readonly<Record<string, unknown>>;
  /** `quiet`: each slice is alone in its zone. `busy`: all share one zone, in which another request waits all the time. */
  readonly zone: 'quiet' | 'busy';
  /** Time that a command runs undisturbed, drawn evenly, so that preemptions come at all moments of a listing's period. */
  readonly dwellMs: { readonly min: number; readonly max: number };
}

/** Settings of the rehearsed cloud: no queue, and delays as short as possible. All figures include these delays. */
export const CLOUD = {
  creatingMs: 0,
  queueMs: 0,
  provisioningMs: 200,
  suspendingMs: 100,
  deletingMs: 100,
  guestNoticeMs: 30_000,
  preemptedLagMs: 0,
  sshAtShutdown: 'open',
} as const;

const SHORT = { min: 2_000, max: 5_000 };
/** Longer than one period: a quiet zone is listed every 10 s. */
const A_LISTING = { min: 2_000, max: 12_000 };
/** The VM loses its power and closes no connection. A second later the API says PREEMPTED. */
const SILENT = { settings: { sshAtShutdown: 'silent', preemptedLagMs: 1_000 }, how: { mode: 'preempted' } };

export const KINDS: readonly Kind[] = [
  {
    name: 'notice',
    title: 'with notice: the guest is told 30 s before its power is cut, and the command ends at once',
    settings: {},
    how: { notice: true, noticeMs: 30_000 },
    zone: 'quiet',
    dwellMs: SHORT,
  },
  {
    name: 'without',
    title: 'without notice: PREEMPTED, every process and connection ends at once',
    settings: {},
    how: { mode: 'preempted' },
    zone: 'quiet',
    dwellMs: SHORT,
  },
  {
    name: 'silent-quiet',
    title: 'silent, in a quiet zone: power off, connections without an end, PREEMPTED a second later',
    ...SILENT,
    zone: 'quiet',
    dwellMs: A_LISTING,
  },
  {
    name: 'silent-busy',
    title: 'silent, in a busy zone: the same where others wait for slices',
    ...SILENT,
    zone: 'busy',
    dwellMs: SHORT,
  },
];

/** Zones of Cloud TPU, one for each job of a quiet kind. */
export const ZONES = [
  'us-central1-a',
  'us-central1-b',
  'us-central1-c',
  'us-central2-b',
  'us-east1-c',
  'us-east1-d',
  'us-east5-a',
  'us-east5-b',
  'us-east5-c',
  'us-south1-a',
  'us-west1-c',
  'us-west4-a',
  'us-west4-b',
  'europe-west4-a',
  'europe-west4-b',
  'asia-east1-c',
] as const;
