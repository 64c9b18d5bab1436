import type { NodeRecord } from '../tpu/model.js';
import { AdminError, parse } from './admin-error.js';
import { findNode } from './find.js';
import type { AdminParts } from './parts.js';
import { preemptRequest } from './requests.js';

/** What the provider does to one slice. */

export function preempt({ cloud }: AdminParts, body: unknown): object {
  const { name, notice, noticeMs, mode } = parse(preemptRequest, body);
  const node = liveNode(findNode(cloud, name), 'preempted');
  if (notice === true || noticeMs !== undefined) {
    cloud.maintenance.announcePreemption(node, noticeMs ?? cloud.lifecycle.drawNotice());
  } else {
    cloud.preempt(node, mode ?? 'preempted');
  }
  return { name: node.resource.name, state: node.resource.state, preemptAt: node.preemptAt };
}

function liveNode(node: NodeRecord, what: string): NodeRecord {
  if (node.resource.state === 'READY' || node.resource.state === 'CREATING') return node;
  throw new AdminError(409, `${node.resource.name} is ${node.resource.state}: only a live node can be ${what}`);
}
