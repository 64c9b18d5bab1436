import assert from 'node:assert/strict';
import { formatProblems } from '../../domain/problem.js';
import type { LimitedQuota } from '../../quota/quota-config.js';
import { parseQuotaFile } from '../../quota/files/quota-file.js';

/** The four tables of a good quota file, q.toml. */
export const SCHEMA = '[toml-schema]\nversion = "1"\n';
export const POOL = '[total_resources]\nv4 = 1024\n';
export const MEMBERS = '[project_membership]\na = ["u1", "b.*"]\nB = ["u1"]\n';
export const SHARES = '[project_resources.a]\nv4 = 0.6\n[project_resources.b]\nv4 = 0.4\n';

export function accepted(text: string): { config: LimitedQuota; warnings: readonly string[] } {
  const parsed = parseQuotaFile(text, 'q.toml');
  assert.ok(parsed.ok, parsed.ok ? '' : formatProblems(parsed.problems));
  return { config: parsed.config, warnings: parsed.warnings };
}

/** The whole refusal, line by line; none for a good file. */
export function problemsOf(text: string): readonly string[] {
  const parsed = parseQuotaFile(text, 'q.toml');
  return parsed.ok ? [] : formatProblems(parsed.problems).split('\n');
}
