import type { QuotaConfig, QuotaLease, QuotaRequest } from '../../quota/quota-config.js';
import { isSameProject } from '../../quota/quota-config.js';
import { isWithin, subtractUnits } from '../../quota/quota-units.js';
import { leaseKey } from '../../domain/lease.js';
import { poolReading as outside } from '../activity-options.js';
import type { LeaseBook, LeaseRow } from './lease-book.js';
import { toLease, toRequest } from './lease-row.js';

/**
 * What version 0.1.0 did, for histories that began under it: it granted and preempted nobody, and asked about its rows one
 * by one. A run of that version continues as new as soon as it is replayed to its end (workflows/quota.ts), so nothing is
 * decided by this any more; it only has to come to the same commands. To be removed with the recorded histories of 0.1.0.
 */
export function grantAsFirstVersion(book: LeaseBook, config: QuotaConfig, now: number): void {
  const requests = book.waiting.map(toRequest).toSorted(inServiceOrder);
  const leases = book.leased.map((row) => toLease(row, now));
  const grants = config.kind === 'unlimited' ? requests.map(({ id }) => ({ id, tier: 0 })) : fitting();
  for (const grant of grants.slice(0, GRANTS_PER_BATCH)) book.grant(grant, now);

  function fitting(): { id: string; tier: number }[] {
    const found: { id: string; tier: number }[] = [];
    const grantIf = (canLieIn: (request: QuotaRequest, tier: number) => boolean) => (request: QuotaRequest) => {
      const tier = tiersOf(config).findIndex(
        (units, index) => isWithin(request.units, freeOf(units, index, leases)) && canLieIn(request, index),
      );
      if (tier === -1) return true;
      found.push({ id: request.id, tier });
      leases.push({ ...request, tier, startedAt: now });
      return false;
    };
    requests.filter(grantIf((request, tier) => isInQuota(config, leases, request, tier))).forEach(grantIf(() => true));
    return found;
  }
}

const GRANTS_PER_BATCH = 200;

type Units = Readonly<Record<string, number>>;
const tiersOf = (config: QuotaConfig): readonly Units[] => (config.kind === 'limited' ? config.tiers : []);

function freeOf(units: Units, tier: number, leases: readonly QuotaLease[]): Units {
  return leases.filter((lease) => lease.tier === tier).reduce((left, lease) => subtractUnits(left, lease.units), units);
}

function isInQuota(config: QuotaConfig, leases: readonly QuotaLease[], request: QuotaRequest, tier: number): boolean {
  if (config.kind === 'unlimited') return false;
  const nominal = config.projects.find(({ name }) => isSameProject(name, request.project))?.nominal[tier];
  if (nominal === undefined) return false;
  const own = leases
    .filter((lease) => lease.tier === tier && isSameProject(lease.project, request.project))
    .filter(({ priority }) => priority <= request.priority)
    .toSorted((a, b) => a.priority - b.priority || a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1));
  const left = own.reduce((rest, { units }) => (isWithin(units, rest) ? subtractUnits(rest, units) : rest), nominal);
  return isWithin(request.units, left);
}

function inServiceOrder(a: QuotaRequest, b: QuotaRequest): number {
  return a.priority - b.priority || a.submittedAt - b.submittedAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

export async function reconcileAsFirstVersion(book: LeaseBook, pass: number): Promise<void> {
  const questions = [...book.leased, ...someWaiting(book, pass)].map(({ lease, slices }) => ({ lease, slices }));
  if (questions.length === 0) return;
  const summary = `are the holders of ${questions.length} leases and requests still open?`;
  for (const { lease, isJobOpen, openSlices } of await outside(summary).inspectHolders(questions)) {
    const key = leaseKey(lease);
    const asked = questions.find((question) => leaseKey(question.lease) === key);
    const row = book.get(key);
    if (!row || !asked) continue;
    const isOpen = new Set(openSlices);
    for (const ref of asked.slices) {
      if (!isOpen.has(ref.name) && row.slices.some((still) => still.name === ref.name)) book.abandoned(key, ref);
    }
    if (!isJobOpen) book.jobClosed(key, Date.now(), `job ${lease.job} is closed`);
  }
}

function someWaiting(book: LeaseBook, pass: number): readonly LeaseRow[] {
  const { waiting } = book;
  const parts = Math.max(1, Math.ceil(waiting.length / WAITING_PER_PASS));
  const from = (pass % parts) * WAITING_PER_PASS;
  return waiting.slice(from, from + WAITING_PER_PASS);
}

const WAITING_PER_PASS = 200;
