import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { createApp } from '../../server/app.js';
import { loadServerConfig } from '../../server/config.js';
import { DearWork } from '../../server/dear-work.js';
import { TokenVerifier } from '../../server/identity/verifier.js';
import { ServerMetrics, type Services } from '../../server/services.js';

export interface LoginServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** The routes of `jobctl serve` that only know who calls: its own application and verifier, with neither Temporal nor a store. */
export const startLoginServer = (
  issuer: string,
  audience: string,
  scopes: readonly string[],
  port = 0,
): Promise<LoginServer> => startServerOf({ issuers: [{ issuer, audiences: [audience], scopes }] }, port);

/** @param more keys of serve.json */
export async function startServerOf(more: object, port: number): Promise<LoginServer> {
  const folder = mkdtempSync(join(tmpdir(), 'login-server-'));
  const file = join(folder, 'serve.json');
  writeFileSync(
    file,
    JSON.stringify({
      store: { bucket: 'none', systemBucket: 'system' },
      googleProject: 'none',
      signingKey: { id: 'none', key: 'env:NONE' },
      ...more,
    }),
  );
  const config = loadServerConfig(file);
  rmSync(folder, { recursive: true });
  // A busy machine may take long to start a thread.
  const dear = new DearWork({ mostMs: 300_000, mostMsPerMinute: 300_000 });
  const services = { dear, verifier: new TokenVerifier(config.issuers), metrics: new ServerMetrics() };
  const app = await createApp(config, services as unknown as Services, pino({ level: 'silent' }));
  const url = await app.listen({ host: '127.0.0.1', port });
  return {
    url,
    stop: async () => {
      await app.close();
      await dear.close();
    },
  };
}
