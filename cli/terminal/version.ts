import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { OutputFlag } from './options.js';
import { printOut } from './print.js';

export type VersionFlags = OutputFlag;

export function version({ output }: VersionFlags): number {
  const versions = ownVersions();
  if (output === 'json') printOut(`${JSON.stringify(versions, null, 2)}\n`);
  else printOut(`jobctl ${versions.jobctl} (Node.js ${versions.node}, Temporal SDK ${versions.temporalSdk})\n`);
  return 0;
}

export interface Versions {
  readonly jobctl: string;
  readonly node: string;
  readonly temporalSdk: string;
}

export function ownVersions(): Versions {
  return { jobctl: ownVersion(), node: process.versions.node, temporalSdk: sdkVersion() };
}

/** The version in package.json, two folders above this file in source, three if built. */
export function ownVersion(): string {
  const up = import.meta.url.endsWith('.ts') ? '../../' : '../../../';
  return versionIn(new URL(`${up}package.json`, import.meta.url));
}

function sdkVersion(): string {
  return versionIn(createRequire(import.meta.url).resolve('@temporalio/client/package.json'));
}

function versionIn(file: URL | string): string {
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
