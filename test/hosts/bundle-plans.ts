import { execFileSync } from 'node:child_process';
import { modulePlans } from '../../activities/module-plans.js';
import type { BundleSpec } from '../../domain/modules/bundle.js';
import type { ModulePlan } from '../../domain/modules/module.js';

/** Not by jobctl's own packer: any archive of a folder is a bundle to a host. */
export function bundlePlans(folder: string, bundle: Partial<BundleSpec> = {}, venv?: string): readonly ModulePlan[] {
  const archive = execFileSync('tar', ['-C', folder, '--mtime=@0', '-czf', '-', '.']);
  return modulePlans(
    {
      modules: [...(venv === undefined ? [] : ['venv']), 'bundle'],
      bundle: { dir: '.', ...bundle },
      ...(venv === undefined ? {} : { venv: { path: venv, python: 'python3' } }),
    },
    { files: new Map([['bundle:.', archive]]), keys: [] },
  );
}
