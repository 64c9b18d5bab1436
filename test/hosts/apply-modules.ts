import type { ModulePlan } from '../../domain/modules/module.js';
import type { HostConnection, ModuleOutcome } from '../../cloud/hosts/port.js';
import { never } from './session.js';

export type Applied = ModuleOutcome & { readonly output: string };

/** Makes one module ready: how it ended, and what its steps printed. */
export async function applyModule(
  connection: HostConnection,
  plan: ModulePlan,
  onOutput: (chunk: Buffer) => void = () => undefined,
  signal: AbortSignal = never,
): Promise<Applied> {
  let output = '';
  const listener = {
    onOutput: (_module: string, chunk: Buffer) => {
      output += chunk.toString();
      onOutput(chunk);
    },
  };
  const [outcome] = await connection.applyModules([plan], listener, signal);
  if (outcome === undefined) throw new Error(`module ${plan.name}: no outcome`);
  return { ...outcome, output };
}
