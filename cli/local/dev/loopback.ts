import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tryLock } from '../../place/stack/file-lock.js';
import type { FileLock } from '../../place/stack/file-lock.js';

/** Ports and address ranges that one `dev up` has chosen but that are not yet in use. A concurrent `dev up` avoids them. */
export interface Reservations {
  /**
   * `preferred`, or the next free port in steps of ten.
   * @throws Error when 200 of them are taken
   */
  port(preferred: number, address?: string): Promise<number>;
  /** Returns whether `port` is free, and reserves it if so. */
  exactPort(port: number, address?: string): Promise<boolean>;
  /** Reserves the port of a running process that may be restarted meanwhile, so that no other stack takes it in between. */
  keep(port: number, address?: string): void;
  /** Reserves the first of `octets` for which `isFree` is true and that no other `dev up` is choosing. */
  octet(octets: readonly number[], isFree: (octet: number) => Promise<boolean>): Promise<number | undefined>;
  release(): void;
}

const LOOPBACK = '127.0.0.1';
const PORT_STEP = 10;
const PORT_TRIES = 200;

export function openReservations(): Reservations {
  const locks: FileLock[] = [];
  const reserve = async (name: string, isFree: () => Promise<boolean>): Promise<boolean> => {
    const lock = tryLock(join(registryDir(), name));
    if (lock === undefined) return false;
    if (await isFree()) {
      locks.push(lock);
      return true;
    }
    lock.release();
    return false;
  };
  const exactPort = (port: number, address = LOOPBACK): Promise<boolean> =>
    reserve(`${address}-${port}`, () => canListen(port, address));
  return {
    exactPort,
    keep: (port, address = LOOPBACK) => {
      const lock = tryLock(join(registryDir(), `${address}-${port}`));
      if (lock !== undefined) locks.push(lock);
    },
    port: (preferred, address) => firstFreePort(preferred, (port) => exactPort(port, address)),
    octet: async (octets, isFree) => {
      for (const octet of octets) if (await reserve(`octet-${octet}`, () => isFree(octet))) return octet;
      return undefined;
    },
    release: () => {
      for (const lock of locks.splice(0)) lock.release();
    },
  };
}

/** Shared by all stacks of this user on this machine. */
export function registryDir(): string {
  return join(tmpdir(), `jobctl-${process.getuid?.() ?? 'user'}`);
}

/** Returns whether this process could listen there now. */
export async function canListen(port: number, address: string): Promise<boolean> {
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ port, host: address, exclusive: true }, () => resolve(true));
  });
  if (isFree) await new Promise((resolve) => server.close(resolve));
  return isFree;
}

async function firstFreePort(preferred: number, isFree: (port: number) => Promise<boolean>): Promise<number> {
  for (let i = 0; i < PORT_TRIES; i++) {
    const port = preferred + i * PORT_STEP;
    if (await isFree(port)) return port;
  }
  throw new Error(
    `ports ${preferred} to ${preferred + PORT_STEP * (PORT_TRIES - 1)}: every tenth was tried, all are taken`,
  );
}
