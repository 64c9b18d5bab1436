import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { isMailAddress, urlProblem } from '../domain/job-file/notify.js';

const reference = z.string().min(1);
const mailAddress = z.string().refine(isMailAddress, { error: 'a mail address, such as jobs@example.org' });

const channel = z.union(
  [
    z.strictObject({ slack: reference }),
    z.strictObject({
      webhook: z.string().refine((url) => urlProblem(url) === undefined, { error: 'an https URL' }),
      key: reference,
    }),
    z.strictObject({ mail: z.array(mailAddress).min(1) }),
  ],
  { error: '{"slack": REFERENCE}, {"webhook": URL, "key": REFERENCE} or {"mail": [ADDRESS, ..]}' },
);
const channelName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,62}$/, 'a name of a channel: a letter, then letters, digits, - and _');

/** The part of a worker's configuration about who is told of jobs (docs/notify.md). Secrets are named by reference. */
export const notifyConfig = z
  .strictObject({
    /** Channels that job files may name. */
    channels: z.record(channelName, channel).default({}),
    /** The URL of the mail server, by reference, and the address that mails are from. Absent: no mail is sent. */
    smtp: z.strictObject({ url: reference, from: mailAddress }).optional(),
    /** Networks that are not public but that webhooks may lead to. Plain http is allowed only for loopback addresses in them. */
    networks: z.array(z.string().refine(ipaddr.isValidCIDR, { error: 'a network, such as 10.0.0.0/8' })).default([]),
  })
  .prefault({});
