import type { FastifyReply } from 'fastify';
import fastify from 'fastify';
import type { Fleet } from '../fleet.js';
import { listenFailure } from '../listen-failure.js';
import { findStatus } from '../tpu/api-error.js';
import type { TpuCloud } from '../tpu/cloud.js';
import type { NodeRecord } from '../tpu/model.js';
import { lastSegment } from '../tpu/resource-name.js';
import type { Vm } from '../vm/index.js';
import { AdminError, parse } from './admin-error.js';
import type { GoogleParts } from './google.js';
import { addGoogleVerbs } from './google.js';
import {
  configureRequest,
  holdRequest,
  hostsRequest,
  preemptRequest,
  refuseRequest,
  releaseRequest,
} from './requests.js';
import { statusOf } from './status.js';

export interface AdminParts extends GoogleParts {
  readonly cloud: TpuCloud;
  readonly fleet: Fleet;
  /** Epoch ms. */
  readonly now: () => number;
  /** Called after each change; resolves when it is on disk. */
  readonly changed: () => Promise<void>;
  /** Shown in the status: isolation, ports and the like. */
  readonly facts: Readonly<Record<string, unknown>>;
}

export interface AdminServer {
  readonly url: string;
  close(): Promise<void>;
}

/** What a test or a person tells the cloud from behind: see docs of each verb at VERBS. */
export async function startAdminServer(parts: AdminParts, port: number): Promise<AdminServer> {
  const app = fastify({ forceCloseConnections: true });
  app.get('/admin/status', () => statusOf(parts));
  app.get('/admin/journal', (request, reply) => {
    const { after = '0' } = request.query as { readonly after?: string };
    if (!/^\d+$/.test(after)) throw new AdminError(400, `after=${after} is not a sequence number`);
    const lines = [...parts.journal.linesAfter(Number(after))].map((line) => `${line}\n`);
    return reply.type('application/x-ndjson').send(lines.join(''));
  });
  for (const [verb, run] of Object.entries(VERBS)) {
    app.post(`/admin/${verb}`, async (request) => {
      const result = run(parts, request.body ?? {});
      parts.journal.record('admin', verb, { ...(request.body as object | undefined) });
      await parts.changed();
      return result;
    });
  }
  app.delete('/admin/refuse', async () => {
    parts.cloud.state.refusals = [];
    parts.journal.record('admin', 'refuse', { deleted: 'all' });
    await parts.changed();
    return { refusals: [] };
  });
  addGoogleVerbs(app, parts);
  app.setErrorHandler((error, _request, reply) => sendError(reply, error));
  const url = await app.listen({ host: '127.0.0.1', port }).catch((error: Error) => {
    throw listenFailure('admin interface', port, error, '--admin-port');
  });
  return { url, close: () => app.close() };
}

type Verb = (parts: AdminParts, body: unknown) => object;

const VERBS: Readonly<Record<string, Verb>> = { preempt, refuse, hold, release, configure, hosts };

function preempt(parts: AdminParts, body: unknown): object {
  const { name, notice, mode } = parse(preemptRequest, body);
  const node = findNode(parts.cloud, name);
  if (node.resource.state !== 'READY' && node.resource.state !== 'CREATING') {
    throw new AdminError(409, `${node.resource.name} is ${node.resource.state}: only a live node can be preempted`);
  }
  if (notice === true) {
    const text = 'The TPU is about to be preempted.';
    node.resource = { ...node.resource, health: 'UNHEALTHY_MAINTENANCE', healthDescription: text };
    node.preemptAt = parts.now() + parts.cloud.state.settings.noticeMs;
  } else {
    parts.cloud.lifecycle.preempt(node, mode ?? 'preempted');
  }
  return { name: node.resource.name, state: node.resource.state, preemptAt: node.preemptAt };
}

function refuse(parts: AdminParts, body: unknown): object {
  const { method, code, message, times, afterEffect, nameMatches } = parse(refuseRequest, body);
  const status = findStatus(code);
  if (status === undefined) throw new AdminError(400, `code: ${code}`);
  const text = message ?? `refused by the rehearsal's admin interface (${status})`;
  parts.cloud.state.refusals.push({
    method,
    status,
    message: text,
    times,
    afterEffect: afterEffect ?? false,
    nameMatches,
  });
  return { refusals: parts.cloud.state.refusals };
}

/** Resources do not leave the state by themselves from now on. */
function hold(parts: AdminParts, body: unknown): object {
  const { state, nameMatches } = parse(holdRequest, body);
  parts.cloud.state.holds.push({ state, nameMatches });
  return { holds: parts.cloud.state.holds };
}

function release(parts: AdminParts, body: unknown): object {
  const { state, nameMatches } = parse(releaseRequest, body);
  const isReleased = (held: { readonly state: string; readonly nameMatches: string | undefined }): boolean =>
    (state === undefined || held.state === state) && (nameMatches === undefined || held.nameMatches === nameMatches);
  parts.cloud.state.holds = parts.cloud.state.holds.filter((held) => !isReleased(held));
  return { holds: parts.cloud.state.holds };
}

/** For resources that enter a state from now on: those already waiting keep their time. */
function configure(parts: AdminParts, body: unknown): object {
  const given = Object.entries(parse(configureRequest, body)).filter(([, value]) => value !== undefined);
  parts.cloud.state.settings = { ...parts.cloud.state.settings, ...Object.fromEntries(given) };
  return { ...parts.cloud.state.settings };
}

function hosts(parts: AdminParts, body: unknown): object {
  const { name, host, action } = parse(hostsRequest, body);
  const node = findNode(parts.cloud, name);
  const vms = parts.fleet.vmsOf(node.resource.name);
  const vm = vms[host];
  if (vm === undefined)
    throw new AdminError(404, `${node.resource.name} has ${vms.length} running hosts, no host ${host}`);
  return { name: node.resource.name, host, ...HOST_ACTIONS[action](vm) };
}

const HOST_ACTIONS = {
  freeze: (vm: Vm) => done(() => vm.freeze()),
  thaw: (vm: Vm) => done(() => vm.thaw()),
  unreachable: (vm: Vm) => done(() => vm.setReachable(false)),
  reachable: (vm: Vm) => done(() => vm.setReachable(true)),
  'kill-processes': (vm: Vm) => ({ killed: vm.killProcesses() }),
} as const;

function done(action: () => void): object {
  action();
  return {};
}

/** The node called `name`, or that of the queued resource called so; the full name or its last part. */
function findNode(cloud: TpuCloud, name: string): NodeRecord {
  const { nodes, queuedResources } = cloud.state;
  const isNamed = (full: string): boolean => full === name || lastSegment(full) === name;
  const viaRequests = Object.values(queuedResources).flatMap((record) => {
    const node = nodes[record.node];
    return isNamed(record.resource.name) && node !== undefined ? [node] : [];
  });
  const found = new Set([...Object.values(nodes).filter((node) => isNamed(node.resource.name)), ...viaRequests]);
  const [node, ...others] = found;
  const there = Object.keys(nodes);
  if (node === undefined) throw new AdminError(404, `no node '${name}'; there are: ${there.join(', ') || 'none'}`);
  if (others.length > 0) {
    const names = [...found].map((each) => each.resource.name);
    throw new AdminError(400, `'${name}' is the last part of ${found.size} nodes; say which: ${names.join(', ')}`);
  }
  return node;
}

function sendError(reply: FastifyReply, error: unknown): FastifyReply {
  const status = error instanceof AdminError ? error.httpStatus : (error as { statusCode?: number }).statusCode;
  return reply.status(status ?? 500).send({ error: error instanceof Error ? error.message : String(error) });
}
