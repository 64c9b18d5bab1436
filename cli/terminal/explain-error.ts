import { type CliError, ExitCode } from './cli-error.js';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { fileErrorWords } from '../../domain/errors.js';

interface Explained {
  /** Without a newline at the end. */
  readonly text: string;
  readonly exitCode: number;
}

/**
 * Returns the text for an error. The error is known by its name, so that no heavy module is loaded for a class.
 * @param isDebug JOBCTL_DEBUG=1: adds the stack
 */
export function explainError(error: unknown, isDebug: boolean): Explained {
  if (!(error instanceof Error)) return { text: `jobctl: ${String(error)}`, exitCode: ExitCode.Failed };
  const explained = byName(error);
  return isDebug ? { ...explained, text: `${explained.text}\n${error.stack ?? ''}` } : explained;
}

/** True if a shell reads the id as one plain word. */
const isPlainName = (id: string): boolean => /^[a-z0-9-]{1,60}$/.test(id);

function byName(error: Error): Explained {
  const { name, message } = error;
  const told = (exitCode: number, ...rest: readonly string[]): Explained => ({
    text: [message, ...rest.map((line) => `  ${line}`)].join('\n'),
    exitCode,
  });
  const id = (error as { id?: string }).id ?? '';
  switch (name) {
    case 'CliError':
      return told((error as CliError).exitCode);
    case 'JobInvalid':
    case 'WorkerConfigError':
    case 'ServerConfigError':
    case 'CodecKeyError':
    case 'JobKeySecretError':
      return told(ExitCode.Usage);
    case 'JobEncrypted':
      return told(ExitCode.Usage, ...remedyOf(error));
    case 'GroupNotFound':
      return told(ExitCode.NotFound, '`jobctl list` shows the jobs that are there');
    case 'ScheduleNotFound':
      return told(ExitCode.NotFound, '`jobctl schedule ls` shows those that are there');
    case 'JobNotFound':
      if ((error as { isGroup?: boolean }).isGroup === true) return told(ExitCode.NotFound, ...remedyOf(error));
      if (/[*?]/.test(id)) return told(ExitCode.NotFound, `a pattern goes behind --name: jobctl list --name '${id}'`);
      return isPlainName(id)
        ? told(
            ExitCode.NotFound,
            `\`jobctl list\` shows the jobs that are there, \`jobctl list --name '${id}*'\` those whose names begin so`,
          )
        : told(ExitCode.NotFound, '`jobctl list` shows the jobs that are there');
    case 'JobNameTaken':
      if ((error as { what?: string }).what === 'schedule')
        return told(
          ExitCode.Refused,
          `see it with \`jobctl schedule status ${id}\`; delete it first, or choose another name`,
        );
      return told(ExitCode.Refused, `see it with \`jobctl status ${id}\`; for another job choose another --name`);
    case 'MachineNotFound':
      return told(ExitCode.NotFound);
    case 'PoolNotFound':
      return told(ExitCode.NotFound, 'a pool runs from its first job on, or from `jobctl quota apply`');
    case 'Forbidden':
      return told(ExitCode.Refused, ...remedyOf(error));
    case 'JobRefused':
    case 'PoolRefused':
      if (remedyOf(error).length > 0) return told(ExitCode.Refused, ...remedyOf(error));
      return told(ExitCode.Refused, 'nothing was changed');
    case 'TemporalUnreachable':
      return told(
        ExitCode.Unavailable,
        ...remedyOf(error),
        ...((error as { isTemporalThere?: true }).isTemporalThere === true
          ? []
          : ['start one with `jobctl dev up`, or set TEMPORAL_ADDRESS (or --temporal-address)']),
      );
    case 'WaitInterrupted':
      return told(ExitCode.Interrupted, ...remedyOf(error));
    case 'TemporalRefused':
    case 'ServerRefused':
    case 'ServerUnreachable':
    case 'NotLoggedIn':
    case 'TooManyRequests':
      return told(ExitCode.Unavailable, ...remedyOf(error));
    case 'SecretsRefused':
      return told(ExitCode.Unavailable);
    case 'SecretsUnavailable':
    case 'StoreUnavailable':
    case 'CloudUnavailable':
      return told(ExitCode.Unavailable, 'try again; `jobctl dev status` shows the local stack, if this is one');
    case 'StoreRefused':
    case 'CloudRefused':
      // Most refusals name their remedy themselves (cloud/google-refusal.ts), and other stores have no Google login.
      return / (?:gcloud|curl) |(?:s3|file):\/\//.test(message)
        ? told(ExitCode.Unavailable)
        : told(ExitCode.Unavailable, 'does your Google login have the right? `jobctl doctor --gcp` looks');
    case 'JobTerminated':
      return told(ExitCode.Failed);
    default: {
      const [what = message, ...rest] = systemErrorLines(error) ?? [];
      return { text: [`jobctl: ${what}`, ...rest.map((line) => `  ${line}`)].join('\n'), exitCode: ExitCode.Failed };
    }
  }
}

function remedyOf(error: Error): readonly string[] {
  const { remedy } = error as { remedy?: string };
  return remedy === undefined ? [] : [remedy];
}

type SystemError = Error & Readonly<Partial<Record<'code' | 'syscall' | 'path', string>>>;

/**
 * The lines to print for an error of a system call on a file that no verb has explained: the operation and its place, the reason,
 * and the remedy. Undefined for any other error.
 */
function systemErrorLines(error: Error): readonly string[] | undefined {
  const { code, syscall = '', path } = error as SystemError;
  if (code === undefined || !/^E[A-Z]+$/.test(code)) return undefined;
  if (syscall === 'uv_cwd')
    return ['the current folder does not exist any more', 'change to another one: cd "$HOME", for example'];
  if (path === undefined) return undefined;
  const words = fileErrorWords(error);
  if (syscall === 'mkdtemp' && dirname(path) === tmpdir())
    return [
      `${tmpdir()}: no temporary file can be made there: ${words}`,
      'TMPDIR names this folder: set it to another one',
    ];
  return [`${path}: cannot be ${DONE[syscall] ?? 'used'}: ${words}`];
}

const DONE: Readonly<Record<string, string>> = {
  mkdir: 'made',
  mkdtemp: 'made',
  open: 'opened',
  read: 'read',
  scandir: 'read',
  lstat: 'read',
  stat: 'read',
  unlink: 'removed',
  rename: 'replaced',
  write: 'written',
};
