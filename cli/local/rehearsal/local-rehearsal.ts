import type { RehearsalEndpoints } from '../../../rehearsal/index.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { readDevContext } from '../../place/stack/context.js';
import type { DevContext } from '../../place/stack/context.js';
import { stackHome } from '../../terminal/home.js';
import type { Environment } from '../../terminal/home.js';
import { RehearsalAdmin } from './rehearsal-admin.js';

export interface LocalRehearsal {
  readonly stack: DevContext;
  readonly admin: RehearsalAdmin;
}

/** The rehearsal of the local stack. It may not be running. @throws CliError if there is none */
export function localRehearsal(env: Environment = process.env): LocalRehearsal {
  const home = stackHome(env);
  const stack = readDevContext(home);
  if (stack === undefined) {
    throw new CliError(
      ExitCode.NotFound,
      `no local stack in ${home.root}, so there is no rehearsal`,
      'start one with `jobctl dev up`, or name its state folder in JOBCTL_HOME',
    );
  }
  if (stack.rehearsal === undefined) {
    throw new CliError(
      ExitCode.Refused,
      `the local stack in ${home.root} works on REAL Cloud TPU (project ${stack.googleProject}), so there is no rehearsal`,
      'another state folder (JOBCTL_HOME) can have one: `jobctl dev up`',
    );
  }
  return { stack, admin: new RehearsalAdmin(stack.rehearsal.adminUrl, stack.cloud.accessTokenFile) };
}

/** The endpoints of a stack's rehearsal, in the form of its own clients. */
export function endpointsOf({ cloud, store, ssh, rehearsal, kubeconfig }: DevContext): RehearsalEndpoints {
  const { tpuEndpoint = '', tpuRestEndpoint = '', accessTokenFile: tokenFile = '' } = cloud;
  const { adminUrl: admin = '', headerFile = '' } = rehearsal ?? {};
  const addresses = { tpu: tpuEndpoint, rest: tpuRestEndpoint, store: store.endpoint ?? '', admin, sshPort: ssh.port };
  return { ...addresses, tokenFile, headerFile, ...(kubeconfig === undefined ? {} : { kubeconfig }) };
}
