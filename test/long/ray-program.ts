import assert from 'node:assert/strict';
import type { JobctlUser } from '../end-to-end/jobctl-process.js';

/** A Ray program for two hosts. Attempt $LAST ends with code 7, the others when they are told to. */
const PROGRAM = `
import os, sys, time, ray
ray.init(logging_level="ERROR", log_to_driver=False)
@ray.remote(scheduling_strategy="SPREAD", num_cpus=1)
def place():
    time.sleep(1)
    return ray.get_runtime_context().get_node_id(), os.environ["JOBCTL_HOST_INDEX"], os.environ["MINE"]
places = set(ray.get([place.remote() for _ in range(8)]))
print("tasks ran on", len({node for node, _, _ in places}), "nodes:", sorted({(host, mine) for _, host, mine in places}), flush=True)
if os.environ["JOBCTL_ATTEMPT"] == os.environ["LAST"]:
    sys.exit(7)
time.sleep(3600)
`;

/** Of a job file: the program on two hosts that have Ray 2.60.0. */
export const rayProgram = (last: number, before = ''): object => ({
  env: { MINE: 'of the job', LAST: last },
  ray: { num_cpus: 2, object_store_memory: '100Mi', version: '2.60.0' },
  command: { run: `${before}cat > ~/program.py <<'END'\n${PROGRAM}\nEND\nexec python3 ~/program.py` },
});

export const RAN_ON_BOTH = /^tasks ran on 2 nodes: \[\('0', 'of the job'\), \('1', 'of the job'\)\]$/m;

const ASK = `python3 -c 'import ray; ray.init(logging_level="ERROR", log_to_driver=False); print(len(ray.nodes()), "nodes")' 2>&1`;

/**
 * Whoever has the token of an attempt sees its two nodes, and nobody who has another one, or none.
 * @param enter where the host's Python with Ray is
 */
export async function tokenIsAsked(
  user: JobctlUser,
  id: string,
  attempt: number,
  host: number,
  enter = '',
): Promise<void> {
  const asked = async (token: string): Promise<string> => {
    const script = `${enter}. ~/.jobctl/runs/${id}-a${attempt}/ray.env; ${token}${ASK}`;
    const { stdout, stderr } = await user.run('exec', id, '--host', String(host), '--', script);
    return stdout + stderr;
  };
  assert.match(await asked(''), /^2 nodes$/m);
  assert.match(await asked('ray status; '), /^Active:\n(?: .*\n)* 1 node_/m);
  for (const token of ['export RAY_AUTH_TOKEN=another; ', 'unset RAY_AUTH_MODE RAY_AUTH_TOKEN_PATH; ']) {
    const said = await asked(token);
    assert.match(said, /authentication/i, token);
    assert.doesNotMatch(said, /nodes$/m, token);
  }
}
