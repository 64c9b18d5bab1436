import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import type { Destination, NoticeMessage } from '../cloud/notices/port.js';
import type { DeliverInput, NoticesAbout, NoticesActivities } from '../contract/notices.js';
import { FailureType } from '../domain/errors.js';
import { notifyChoices } from '../domain/job-choices.js';
import type { JobSpec } from '../domain/job-spec.js';
import { nearestWord } from '../domain/nearest-word.js';
import { isWorkflowTarget, type OutsideTarget, targetText } from '../domain/notify.js';
import { formatProblems } from '../domain/problem.js';
import { jobOwnerObject, runObject } from '../domain/store-layout.js';
import { allowedIn, notAllowed } from '../quota/allowed.js';
import type { ActivityDependencies, Installation } from './dependencies.js';
import { invalidJob, translated } from './failures.js';
import { ofJob, secretValue } from './secret-values.js';

type Outside = Pick<ActivityDependencies, 'installation' | 'pools' | 'store'>;

export function noticesActivities(outside: Outside): NoticesActivities {
  return { deliverNotice: (input) => translated(() => deliver(outside, input)) };
}

async function deliver(outside: Outside, input: DeliverInput): Promise<void> {
  const { about, target } = input;
  const { installation } = outside;
  const owner = input.isTest ? about : await ownerOf(outside, about);
  await refuseUnlessAllowed(outside, owner.pool, target);
  const isVerified = !input.isTest && installation.trust.isVerified(owner.pool);
  const own = ofJob(installation, { project: owner.project, ...(isVerified && { isVerified }) });
  const delivery = await installation.outlets.sender.send(await destinationOf(own, target), messageOf(input, owner));
  if (delivery.kind === 'sent') return;
  const isFinal = delivery.kind === 'never';
  throw ApplicationFailure.create({
    type: isFinal ? FailureType.Refused : FailureType.Unavailable,
    nonRetryable: isFinal,
    message: delivery.why,
    ...(!isFinal && delivery.afterMs !== undefined && { nextRetryDelay: delivery.afterMs }),
  });
}

type Owner = Pick<NoticesAbout, 'project' | 'user' | 'pool'>;
const ownerForm = z.object({ user: z.string(), project: z.string(), pool: z.string() });

/**
 * The owner of the job by the store, where only workers write it. The workflow's own word is not enough: whoever starts a
 * workflow `notices` could name another project, and with it its secrets.
 */
async function ownerOf({ store }: Outside, { job }: NoticesAbout): Promise<Owner> {
  const [run, record] = await Promise.all([store.read(runObject(job.id)), store.read(jobOwnerObject(job.id))]);
  if (run?.toString('utf8') !== job.run || record === undefined)
    throw invalidJob(`there is no job ${job.id} with first run ${job.run}`);
  return ownerForm.parse(JSON.parse(record.toString('utf8')));
}

/** Judges by the pool's file as it is now: an operator can end what it allowed before. */
async function refuseUnlessAllowed({ pools, installation }: Outside, pool: string, to: OutsideTarget): Promise<void> {
  const { choices = { pool, admins: [], gives: {} } } = await pools.load(pool);
  const { trust, googleProject } = installation;
  const allowed = allowedIn(choices, { isStrict: trust.isVerified(pool), googleProject });
  const problems = allowed === undefined ? [] : notAllowed(allowed, notifyChoices([{ on: [], to }]));
  if (problems.length > 0) throw invalidJob(formatProblems(problems));
}

/**
 * Checks the targets of a job when it is accepted, so that a wrong one is known at the submit.
 * @throws InvalidJob
 */
export async function checkNotify(own: Installation, { notify = [] }: Pick<JobSpec, 'notify'>): Promise<void> {
  for (const { to } of notify) if (!isWorkflowTarget(to)) await destinationOf(own, to);
}

/** @throws InvalidJob if there is no such channel or secret, or this installation sends no mail */
async function destinationOf(own: Installation, target: OutsideTarget): Promise<Destination> {
  if ('webhook' in target) {
    const key = await secretValue(own, target.secret, 'notify.to.secret');
    return { kind: 'webhook', url: target.webhook, key };
  }
  if ('slack' in target)
    return { kind: 'slack', url: await secretValue(own, target.slack.secret, 'notify.to.slack.secret') };
  if ('mail' in target) return mailTo(own, target.mail, 'notify.to.mail');
  return channelOf(own, target.channel);
}

function mailTo({ outlets }: Installation, to: readonly string[], field: string): Destination {
  if (outlets.sender.sendsMail) return { kind: 'mail', to };
  throw invalidJob(
    `${field}: this installation sends no mail\n  an operator names a mail server: notify.smtp in the worker's configuration (docs/notify.md)`,
  );
}

async function channelOf(own: Installation, name: string): Promise<Destination> {
  const { channels } = own.outlets;
  const channel = channels.get(name);
  if (channel === undefined) {
    const nearest = nearestWord(name, channels.keys());
    const known = channels.size === 0 ? 'it has none' : `it has ${[...channels.keys()].join(', ')}`;
    throw invalidJob(
      `notify.to.channel: this installation has no channel '${name}'\n  ${nearest === undefined ? '' : `did you mean ${nearest}? `}${known}: notify.channels in the worker's configuration (docs/notify.md)`,
    );
  }
  switch (channel.kind) {
    case 'webhook':
      return { kind: 'webhook', url: channel.url, key: await channel.key() };
    case 'slack':
      return { kind: 'slack', url: await channel.url() };
    case 'mail':
      return mailTo(own, channel.to, `notify.to.channel ${name}`);
  }
}

function messageOf({ about, event, target }: DeliverInput, { project, user, pool }: Owner): NoticeMessage {
  const { job, name, label } = about;
  const rehearsed = label === undefined ? '' : `[${label}] `;
  return {
    id: event.id,
    type: `job.${event.kind}`,
    timestamp: new Date(event.at).toISOString(),
    title: `${rehearsed}${job.id}: ${event.kind}`,
    lines: [
      event.text,
      `job ${job.id} of ${user}, project ${project}, pool ${pool}, at ${new Date(event.at).toISOString()}`,
      `\`jobctl status ${job.id}\` shows it. You are told because its file names ${targetText(target)}.`,
    ],
    data: { job: job.id, run: job.run, name, user, project, pool, ...(label === undefined ? {} : { label }), event },
  };
}
