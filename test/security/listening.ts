import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Where a process listens on loopback, as `ADDRESS:PORT`. */
export function listeningOn(pid: number): readonly string[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap(
      (fd) => /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.[1] ?? [],
    ),
  );
  const rows = readFileSync(`/proc/${pid}/net/tcp`, 'utf8').split('\n').slice(1);
  return rows.flatMap((row) => {
    const [, local = '', , state, , , , , , inode = ''] = row.trim().split(/\s+/);
    if (state !== '0A' || !inodes.has(inode)) return [];
    const [address = '', port = ''] = local.split(':');
    return [`${[...Buffer.from(address, 'hex')].toReversed().join('.')}:${Number.parseInt(port, 16)}`];
  });
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
