import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Attack } from './attack.js';

/** Of what nobody runs against: what the tree says is read, in both trees alike. */
const confinement: Attack = {
  finding: 'F14',
  title: 'services of docker-compose.yml that keep capabilities, and what is in the network of the database (read)',
  mode: 'trusted',
  async run({ root }) {
    const text = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
    const { services } = parse(text, { merge: true }) as {
      services: Readonly<Record<string, { cap_drop?: readonly string[]; networks?: unknown }>>;
    };
    const loose = Object.entries(services).filter(([, { cap_drop: drop = [] }]) => !drop.includes('ALL'));
    const common = Object.entries(services).filter(([, { networks }]) => networks === undefined);
    const total = Object.keys(services).length;
    return {
      hasSucceeded: loose.length > 0,
      seen: `${loose.length} of ${total} keep capabilities${loose.length > 0 ? ` (${loose.map(([name]) => name).join(', ')})` : ''}; ${common.length} have no network of their own`,
    };
  },
};

const checksum: Attack = {
  finding: 'F15',
  title: 'the Temporal CLI that is downloaded is compared with a checksum (read)',
  mode: 'trusted',
  async run({ root }) {
    const folder = join(root, 'client/cli/dev/temporal-server');
    const files = readdirSync(folder).filter((name) => /sha256/.test(readFileSync(join(folder, name), 'utf8')));
    return {
      hasSucceeded: files.length === 0,
      seen: files.length === 0 ? 'no file of it knows a checksum' : `by ${files.join(', ')}`,
    };
  },
};

const supplyChain: Attack = {
  finding: 'F16',
  title: 'SECURITY.md, a bill of materials, provenance, an audit (read)',
  mode: 'trusted',
  async run({ root }) {
    const workflows = join(root, '.github/workflows');
    const yaml = existsSync(workflows)
      ? readdirSync(workflows)
          .map((name) => readFileSync(join(workflows, name), 'utf8'))
          .join('\n')
      : '';
    const scripts = existsSync(join(root, '.ci')) ? execFileSync('cat', [join(root, '.ci/run')]).toString() : '';
    const has = {
      'SECURITY.md': existsSync(join(root, 'SECURITY.md')),
      'threat model': existsSync(join(root, 'docs/threat-model.md')),
      SBOM: /sbom/i.test(yaml),
      provenance: /provenance|attest/i.test(yaml),
      audit: /audit/.test(`${yaml}${scripts}`),
    };
    const missing = Object.entries(has).flatMap(([name, isThere]) => (isThere ? [] : [name]));
    return {
      hasSucceeded: missing.length > 0,
      seen: missing.length > 0 ? `missing: ${missing.join(', ')}` : 'all are there',
    };
  },
};

export const READ_FINDINGS: readonly Attack[] = [confinement, checksum, supplyChain];
