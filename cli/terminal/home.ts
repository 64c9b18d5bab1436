import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The files of one local stack. Two stacks with two state folders share none. */
export interface StackHome {
  readonly root: string;
  /** Lock that is held while the stack is changed. */
  readonly lockFile: string;
  /** The chosen settings and the running processes: `StackRecord`. */
  readonly recordFile: string;
  /** Settings for clients: `DevContext`. */
  readonly contextFile: string;
  readonly workerConfigFile: string;
  readonly databaseFile: string;
  /** Login and configuration of a Temporal server that authenticates callers. */
  readonly serverDir: string;
  /** The process that uses the database. */
  readonly databaseHolderFile: string;
  readonly rehearsalDir: string;
  /** The rehearsal's token, alone and with its header. The rehearsal rewrites both at each start. */
  readonly rehearsalTokenFile: string;
  readonly rehearsalHeaderFile: string;
  /** Kubeconfig of the rehearsed Kubernetes, which writes it. */
  readonly kubeconfigFile: string;
  readonly sshDir: string;
  /** Secret that the keys of jobs are made from. */
  readonly jobKeySecretFile: string;
  /** Secrets of the stack's jobs. */
  readonly secretsDir: string;
  /** gcloud's configuration after `jobctl rehearsal env`. */
  readonly gcloudDir: string;
  readonly logsDir: string;
  /** The store of a stack that has own machines alone, unless another is named. */
  readonly storeDir: string;
  /** Quota file of such a stack, unless another is named. */
  readonly machinesQuotaFile: string;
}

/** The state folder is JOBCTL_HOME, else `jobctl` in the XDG state folder. */
export function stackHome(env: Environment = process.env): StackHome {
  const configured = env['JOBCTL_HOME'];
  const root =
    configured === undefined || configured === ''
      ? join(xdgFolder(env, 'XDG_STATE_HOME', '.local/state'), 'jobctl')
      : resolve(configured);
  return {
    root,
    lockFile: join(root, 'stack.lock'),
    recordFile: join(root, 'stack.json'),
    contextFile: join(root, 'context.json'),
    workerConfigFile: join(root, 'worker.json'),
    databaseFile: join(root, 'temporal.db'),
    serverDir: join(root, 'temporal'),
    databaseHolderFile: join(root, 'temporal.db.holder'),
    rehearsalDir: join(root, 'rehearsal'),
    rehearsalTokenFile: join(root, 'rehearsal', 'access', 'token'),
    rehearsalHeaderFile: join(root, 'rehearsal', 'access', 'authorization-header'),
    kubeconfigFile: join(root, 'rehearsal', 'kubernetes', 'kubeconfig'),
    sshDir: join(root, 'ssh'),
    jobKeySecretFile: join(root, 'ssh', 'job-key-secret'),
    secretsDir: join(root, 'secrets'),
    gcloudDir: join(root, 'gcloud'),
    logsDir: join(root, 'logs'),
    storeDir: join(root, 'store'),
    machinesQuotaFile: join(root, 'quota-of-machines.toml'),
  };
}

/** A folder of the XDG base directory specification. @param usual its default, below the home folder */
export function xdgFolder(env: Environment, variable: string, usual: string): string {
  const configured = env[variable];
  return configured === undefined || configured === '' ? join(env['HOME'] ?? homedir(), usual) : configured;
}

/** Cache that can be fetched again, shared by all state folders of this user: `jobctl` in the XDG cache folder. */
export function cacheFolder(env: Environment = process.env): string {
  return join(xdgFolder(env, 'XDG_CACHE_HOME', '.cache'), 'jobctl');
}
