import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { withPublishedTree } from './published-tree.js';

/**
 * `npm audit` of what the published packages install. Exits 1 if the registry knows of a high or critical vulnerability in it,
 * else 0. It also exits 0 if the registry answers no audits, as mirrors may not; the output says so.
 *
 *   npx tsx scripts/audit.ts
 */
type Severity = 'critical' | 'high' | 'moderate' | 'low' | 'info' | 'total';

/** The report (https://docs.npmjs.com/cli/v11/commands/npm-audit), or `message` alone if the registry did not answer. */
interface Report {
  readonly auditReportVersion?: number;
  readonly message?: string;
  readonly vulnerabilities?: Readonly<Record<string, Vulnerability>>;
  readonly metadata?: {
    readonly vulnerabilities: Readonly<Record<Severity, number>>;
    readonly dependencies: { readonly total: number };
  };
}

interface Vulnerability {
  readonly severity: Severity;
  /** An advisory, or the name of a vulnerable dependency. */
  readonly via: readonly (string | { readonly title: string; readonly url: string })[];
}

const report = await withPublishedTree(audit);
process.exitCode = say(report);

async function audit(folder: string): Promise<Report> {
  const args = ['audit', '--json', '--package-lock-only', '--audit-level=high'];
  try {
    return read((await promisify(execFile)('npm', args, { cwd: folder, maxBuffer: 1 << 26 })).stdout);
  } catch (error) {
    // Exit code 1 has two meanings, which the output tells apart.
    const { stdout } = error as { stdout?: string };
    if (stdout === undefined) throw error;
    return read(stdout);
  }
}

function reason(via: Vulnerability['via'][number]): string {
  return typeof via === 'string' ? `by ${via}` : `${via.title}, ${via.url}`;
}

function read(stdout: string): Report {
  try {
    return JSON.parse(stdout) as Report;
  } catch {
    throw new Error(`npm audit printed no report: ${stdout.slice(0, 500) || 'nothing'}`);
  }
}

/** @returns the exit code */
function say({ auditReportVersion, message, vulnerabilities = {}, metadata }: Report): number {
  if (auditReportVersion === undefined || metadata === undefined) {
    const warning = process.env['GITHUB_ACTIONS'] === undefined ? '' : '::warning::';
    console.log(`${warning}audit: not done, the registry answers no audits: ${message ?? 'no report'}`);
    return 0;
  }
  const { high, critical, total } = metadata.vulnerabilities;
  for (const [name, { severity, via }] of Object.entries(vulnerabilities))
    console.log(`audit: ${severity}: ${name}: ${via.map(reason).join('; ')}`);
  const worst = high + critical;
  console.log(`audit: ${metadata.dependencies.total} dependencies, ${worst} high or critical, ${total - worst} lower`);
  if (worst > 0)
    console.log('audit: update them (npm update NAME, npx tsx scripts/complete-lock.ts), or say in an ADR why not');
  return worst > 0 ? 1 : 0;
}
