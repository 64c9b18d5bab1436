import type { Command } from 'commander';
import { durationOption, type Invocation, outputOption, wholeNumber, withConnection } from '../terminal/options.js';
import type { AuditLogFlags, ExplainFlags } from './verbs/access.js';

const EXPLAIN_NOTES = `
Of a context that names a jobctl serve. docs/access.md has the table. Without --job it says what you may do with jobs of your own.

Examples:
  jobctl access explain
  jobctl access explain --job train-7f3k --verb cancel
`;

/** Registers `access`: the rights of callers of a `jobctl serve`. */
export function registerAccess(program: Command, invocation: Invocation): void {
  const access = program.command('access').description("explain what a server's access table allows you");
  access.addHelpText('after', '\nExample:\n  jobctl access explain --job train-7f3k\n');
  const command = access
    .command('explain')
    .summary('see what you may do, and why not')
    .description('Prints each verb with the role that allows it to you, or with who may.')
    .option('--job <id>', 'with this job')
    .option('--project <name>', 'in this project')
    .option('--pool <name>', 'in this pool (default: default)')
    .option('--verb <verb>', 'this verb alone')
    .addOption(outputOption())
    .addHelpText('after', EXPLAIN_NOTES);
  withConnection(command).action(async (flags: ExplainFlags) => {
    const verb = await import('./verbs/access.js');
    invocation.exitCode = await verb.explain(flags);
  });
}

const LOG_NOTES = `
Of a context that names a jobctl serve, for operators of the pool. Newest last. docs/access.md says what is recorded.

Examples:
  jobctl audit log --job train-7f3k
  jobctl audit log --user alice@example.org --since 7d --output json
`;

export function registerAuditLog(audit: Command, invocation: Invocation): void {
  const command = audit
    .command('log')
    .summary('see who did what, by the audit log of a server')
    .description('Prints who asked for what, from where, and how it was decided.')
    .option('--user <name>', 'of this user alone')
    .option('--job <id>', 'about this job alone')
    .option('--pool <name>', 'in this pool (default: default)')
    .option('--since <duration>', 'within this time, such as 7d (default: 1d)', durationOption)
    .option('--limit <n>', 'so many lines at most', wholeNumber(1, 10_000))
    .addOption(outputOption())
    .addHelpText('after', LOG_NOTES);
  withConnection(command).action(async (flags: AuditLogFlags) => {
    const verb = await import('./verbs/access.js');
    invocation.exitCode = await verb.auditLog(flags);
  });
}
