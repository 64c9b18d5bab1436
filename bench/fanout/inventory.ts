import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { z } from 'zod';

const hostShape = z.strictObject({
  host: z.string().min(1),
  port: z.int().min(1).max(65_535),
  user: z.string().min(1),
  keyFile: z.string().min(1),
  knownHostsFile: z.string().min(1),
});

/** A host with an sshd, and the login for it. */
export type FanoutHost = Readonly<z.output<typeof hostShape>>;

/** @throws Error naming every wrong field. */
export function readInventory(file: string): readonly FanoutHost[] {
  const parsed = z
    .array(hostShape)
    .min(1)
    .safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (!parsed.success) throw new Error(`${file}: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** Public keys of the host in its known_hosts file, whose names may be hashed. @throws Error if the file has none */
export async function knownKeys({ host, port, knownHostsFile }: FanoutHost): Promise<readonly string[]> {
  const name = port === 22 ? host : `[${host}]:${port}`;
  const { stdout } = await promisify(execFile)('ssh-keygen', ['-F', name, '-f', knownHostsFile]).catch(() => {
    throw new Error(`${knownHostsFile}: has no key of ${name}; ssh-keyscan -p ${port} ${host} >> ${knownHostsFile}`);
  });
  const lines = stdout.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => line.split(' ').slice(1, 3).join(' '));
}
