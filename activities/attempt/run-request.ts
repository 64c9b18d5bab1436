import { createHmac } from 'node:crypto';
import { inputsFolder, type InputsSpec, inputVariable } from '../../domain/inputs.js';
import type { HostConnection, RunInputs, RunRequest } from '../../cloud/hosts/port.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { kindOfJob, machineKind } from '../../domain/machines.js';
import { commandContainer, rayOf } from '../../domain/modules/command.js';
import { runEnvironment } from '../../domain/run-environment.js';
import { ownHostAt, ownHostOf } from '../../domain/slice.js';
import { rayVariables } from '../../domain/modules/ray-run.js';
import type { Installation } from '../dependencies.js';
import { type AttemptHost, runIdOf, runPlace } from './attempt-hosts.js';
import { type ExitProofOf, exitRecordOf, hasBegun, ownEnds } from './ends.js';
import { outputsOf } from './outputs.js';
import { hostUpload, signOf } from './routes.js';

interface RequestSources {
  readonly store: Pick<StorePort, 'bucket' | 'objectUrl' | 'uploadUrl'>;
  readonly installation: Pick<Installation, 'owner' | 'sshKey'>;
  readonly proofOf: ExitProofOf;
}

/** The request to the on-host runner for an attempt's command. The job's secrets are not in it. */
export function runRequest(
  { store, installation, proofOf }: RequestSources,
  input: AttemptInput,
  host: AttemptHost,
  script: string,
): RunRequest {
  const { spec, attempt, settings } = input;
  const { slice, index } = host.target;
  const container = commandContainer(spec);
  const waitSeconds = spec.timeouts?.device;
  // People hold the accelerators of a workspace whose watcher is started again, and are not waited for.
  const unasked = spec.workspace === undefined ? {} : { waitMs: 0 };
  const wait = waitSeconds === undefined ? unasked : { waitMs: waitSeconds * 1000 };
  const { slot, uuids } = ownHostAt(input.slices.find((each) => each.index === slice)?.hosts ?? [], index) ?? {};
  const gpus = { ...(slot && { gpus: uuids ?? slot.gpus }), ...(uuids && { claimed: uuids }) };
  const { devices } = machineKind(kindOfJob(spec));
  const sign = hostUpload(store, host, signOf(input, host.number));
  const exitRecord = hostUpload(store, host, exitRecordOf(input, host), 'absent');
  return {
    runId: runIdOf(input),
    epoch: attempt,
    script,
    env: { ...runEnvironment(spec, runPlace(input), slice, index), ...rayPlace(installation, input, host) },
    ...(container && { container }),
    ...(slot?.gpus.length === 0 ? {} : { accelerator: { ...devices, ...wait, ...gpus } }),
    ...(sign && { sign: { ...sign, everyMs: settings.timings.signOfLifeMs } }),
    ...(exitRecord && { exitRecord: { ...exitRecord, proof: proofOf(host.target) } }),
    outputs: outputsOf(store, input, host),
    ...watchedUse(input),
    ...(spec.inputs && { inputs: runInputs(input.job.id, spec.inputs) }),
    ...ownEnds(spec, index),
  };
}

function watchedUse({
  spec,
  firstStartedAt = Date.now(),
}: Pick<AttemptInput, 'spec' | 'firstStartedAt'>): Pick<RunRequest, 'workspace'> {
  const { workspace, timeouts } = spec;
  if (workspace === undefined) return {};
  const { idleSeconds } = workspace;
  return {
    workspace: {
      ...(idleSeconds !== undefined && { idleMs: idleSeconds * 1000 }),
      ...(timeouts?.run !== undefined && { limitMs: Math.max(1, firstStartedAt + timeouts.run * 1000 - Date.now()) }),
      isWhole: machineKind(kindOfJob(spec)).takesPublicKey,
    },
  };
}

const runInputs = (job: string, inputs: InputsSpec): RunInputs => ({
  folder: inputsFolder(job),
  variables: Object.fromEntries(
    Object.keys(inputs).map((name) => [inputVariable(name), `${inputsFolder(job)}/${name}`]),
  ),
});

/**
 * Starts a run that has not begun. Secrets are read only for that: a secret that was removed since does not end a command that
 * runs.
 */
export async function startRun(
  connection: HostConnection,
  request: RunRequest,
  secrets: (() => Promise<Readonly<Record<string, string>>>) | undefined,
): ReturnType<HostConnection['startRun']> {
  if (secrets === undefined || hasBegun(await connection.runStatus(request.runId))) return connection.startRun(request);
  return connection.startRun({ ...request, env: { ...request.env, ...(await secrets()) } });
}

/**
 * Variables by which a host finds the Ray of its attempt. The token is derived from the installation's key, so every worker has
 * the same one and none stores it: it is in no history, object or log (docs/adr/0068).
 * @returns nothing for a job without Ray
 */
function rayPlace(
  { owner, sshKey }: Pick<Installation, 'owner' | 'sshKey'>,
  input: Pick<AttemptInput, 'spec' | 'slices' | 'job' | 'attempt'>,
  { number }: AttemptHost,
): Readonly<Record<string, string>> {
  if (rayOf(input.spec) === undefined) return {};
  const token = createHmac('sha256', sshKey.privateKey)
    .update(`ray\n${owner}\n${runIdOf(input)}`)
    .digest('hex');
  const addresses = input.slices.flatMap(({ hosts }) => hosts.map(({ internalIp }) => internalIp));
  const slot = ownHostOf(input.slices[0]?.hosts[0])?.slot?.number;
  return rayVariables({ addresses, number, token, ...(slot !== undefined && { slot }) });
}
