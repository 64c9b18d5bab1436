import type { ModulePlan } from '../../cloud/hosts/port.js';
import type { JobSpec } from '../../domain/job-spec.js';
import type { ModuleName } from '../../domain/setup-spec.js';
import { shellPath } from '../../domain/shell-quote.js';
import { type BundleEnvironment, bundleModule } from './bundle.js';
import { activateConda, condaFolder, condaModule } from './conda.js';
import { dockerModule } from './docker.js';
import { filesModule } from './files.js';
import { gcsfuseModule } from './gcsfuse.js';
import { ownModule, scriptModule } from './script.js';
import type { ModuleFiles, ModuleSources } from './sources.js';
import { sshModule } from './ssh.js';
import { activateLine, venvModule, type VenvSpec } from './venv.js';

export { commandContainer, commandScript } from './command.js';
export type { KeyPair, ModuleFiles } from './sources.js';
export { fieldOf, identityKeys } from './ssh.js';
export { venvModule } from './venv.js';

type SetUpSpec = Pick<
  JobSpec,
  'modules' | 'identities' | 'gcsfuse' | 'docker' | 'conda' | 'venv' | 'files' | 'bundle' | 'script' | 'ownModules'
>;

/**
 * Every module of jobctl's: what it makes of the job's section and the submitter's files. `undefined`: nothing to do on a host.
 * A new one is a file like venv.ts and a line here (docs/modules.md).
 */
const MODULES: Readonly<Record<ModuleName, (spec: SetUpSpec, sources: ModuleSources) => ModulePlan | undefined>> = {
  ssh: ({ identities = [] }, { keys }) => (identities.length === 0 ? undefined : sshModule(identities, keys)),
  gcsfuse: ({ gcsfuse }) => gcsfuseModule(needed('gcsfuse', gcsfuse)),
  docker: ({ docker }) => dockerModule(needed('docker', docker)),
  conda: ({ conda }, { files }) => condaModule(needed('conda', conda), files),
  venv: ({ venv }, { files }) => venvPlan(needed('venv', venv), files),
  files: ({ files: copies }, { files }) => filesModule('files', needed('files', copies), files),
  bundle: (spec, { files }) => bundleModule(needed('bundle', spec.bundle), files, environmentOf(spec, files)),
  script: ({ script }) => scriptModule(needed('script', script)),
  command: () => undefined,
};

/**
 * The set-up of one host, in the job file's order.
 * @throws RangeError for a module that is not known, or whose section or file is missing.
 */
export function modulePlans(spec: SetUpSpec, sources: ModuleSources): ModulePlan[] {
  return spec.modules.flatMap((name) => {
    const plan = isBuiltIn(name) ? MODULES[name](spec, sources) : ownPlan(name, spec, sources);
    return plan === undefined ? [] : [plan];
  });
}

const venvPlan = (venv: VenvSpec, files: ModuleFiles): ModulePlan =>
  venvModule(venv, venv.requirementsFile === undefined ? undefined : files.get(venv.requirementsFile));

/** What a bundle is installed into; undefined: into what the login shell finds. */
function environmentOf({ modules, venv, conda }: SetUpSpec, files: ModuleFiles): BundleEnvironment | undefined {
  if (modules.includes('venv') && venv) {
    const { fingerprint } = venvPlan(venv, files);
    return { enter: activateLine(venv.path), folder: shellPath(venv.path), fingerprint };
  }
  if (!modules.includes('conda') || !conda) return undefined;
  const { fingerprint } = condaModule(conda, files);
  return { enter: activateConda(conda.name), folder: condaFolder, fingerprint };
}

const isBuiltIn = (name: string): name is ModuleName => Object.hasOwn(MODULES, name);

function ownPlan(name: string, { ownModules }: SetUpSpec, { files }: ModuleSources): ModulePlan {
  const own = ownModules?.[name];
  if (own === undefined) throw new RangeError(`setup.modules: '${name}' is no module`);
  return ownModule(name, own, files);
}

function needed<Section>(module: ModuleName, section: Section | undefined): Section {
  if (section !== undefined) return section;
  throw new RangeError(`setup.modules: '${module}' is named, but the job has no section '${module}'`);
}
