import { z } from 'zod';

const publicLine = z.string().describe('`ssh-ed25519 AAAA..`, as in a known_hosts file.');
/** Credentials for the hosts of one job. */
export const hostAccessSchema = z
  .object({
    user: z.string().describe('Whom every host lets in.'),
    privateKey: z.string().describe("The job's own, in OpenSSH's form: it opens the hosts of this job and no others."),
    publicKey: publicLine,
    hosts: z.array(
      z.object({
        number: z.int().describe('As logs name it.'),
        node: z.string().describe("Of the cloud's resource."),
        slice: z.int(),
        index: z.int().describe('In its slice.'),
        address: z.string().describe('The external one, if the host has one.'),
        internalAddress: z.string().optional(),
        hostKey: publicLine.describe('What a worker has recorded: accept no other one.'),
      }),
    ),
  })
  .meta({ id: 'HostAccess' });
export type HostAccess = z.infer<typeof hostAccessSchema>;
