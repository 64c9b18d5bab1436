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

/** One sshd, whoever runs it. */
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

/** The host's keys as its known_hosts file has them, hashed names included. @throws Error where it has none. */
export async function knownKeys({ host, port, knownHostsFile }: FanoutHost): Promise<readonly string[]> {
  const name = port === 22 ? host : `[${host}]:${port}`;
  const { stdout } = await promisify(execFile)('ssh-keygen', ['-F', name, '-f', knownHostsFile]).catch(() => {
    throw new Error(`${knownHostsFile}: has no key of ${name}; ssh-keyscan -p ${port} ${host} >> ${knownHostsFile}`);
  });
  const lines = stdout.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => line.split(' ').slice(1, 3).join(' '));
}
