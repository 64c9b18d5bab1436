import { modulePlans } from '../../activities/module-plans.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import type { VenvSpec } from '../../domain/modules/venv.js';
import type { HostSession } from './session.js';
import { never } from './session.js';

export const venv = { path: '~/my env', python: 'python3' };
export const withRequirements = { ...venv, requirementsFile: 'sub/requirements.txt' };

export const venvPlan = (spec: VenvSpec, requirements?: Buffer): ModulePlan => {
  const files = new Map(requirements && spec.requirementsFile ? [[spec.requirementsFile, requirements]] : []);
  return modulePlans({ modules: ['venv'], venv: spec }, { files, keys: [] })[0]!;
};

export async function outputOf({ connection }: HostSession, script: string): Promise<string> {
  let output = '';
  await connection.startRun({ runId: 'train-a1', epoch: 1, script, env: {} });
  await connection.followOutput('train-a1', 0, (chunk) => void (output += chunk.toString()), never);
  return output;
}
