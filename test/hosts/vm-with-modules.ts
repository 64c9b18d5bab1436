import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { modulePlans } from '../../activities/module-plans.js';
import type { ModuleFiles } from '../../domain/modules/module.js';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-record.js';
import type { HostConnection, HostsPort } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { needsConfinement } from '../../rehearsal/test/needs-confinement.js';
import { VmWithTools } from '../../rehearsal/test/vm-tools.js';
import type { Applied } from './apply-modules.js';
import { applyModule } from './apply-modules.js';
import { never } from './session.js';

type Sections = Partial<Pick<JobSpec, 'gcsfuse' | 'docker' | 'conda'>>;

/** A rehearsed TPU VM with its tools, and a connection to it: gcsfuse mounts for real, docker and conda are stand-ins (docs/adr/0017). */
export class VmWithModules {
  readonly vm = new VmWithTools();
  #fleet: HostsPort | undefined;
  #connection: HostConnection | undefined;

  /** Hooks of a `describe`: one that its tests share. */
  static shared(): VmWithModules {
    const host = new VmWithModules();
    before(async function () {
      needsConfinement(this);
      await host.start();
    });
    after(() => host.stop());
    return host;
  }

  async start(): Promise<void> {
    await this.vm.start();
    const { address, port, key, user = 'alice' } = await this.vm.cloud.place('tools');
    this.#fleet = createSshHosts({ port, hostKeys: memoryHostKeyPins() });
    const privateKey = readFileSync(key.privateFile, 'utf8');
    this.#connection = await this.#fleet.connect(
      { reach: 'ssh', uid: 'tools', slice: 0, index: 0, address, user },
      { privateKey },
      never,
    );
  }

  async stop(): Promise<void> {
    this.#fleet?.release();
    await this.vm.stop();
  }

  get connection(): HostConnection {
    return this.#connection ?? assert.fail('not started');
  }

  /** What a script prints there. */
  async print(script: string): Promise<string> {
    return (await this.vm.run(script)).stdout;
  }

  async apply(module: string, sections: Sections, files: ModuleFiles = new Map()): Promise<Applied> {
    const [plan] = modulePlans({ modules: [module], ...sections }, { files, keys: [] });
    assert.ok(plan);
    return applyModule(this.connection, plan);
  }

  /** How it ended, which is not a failure. */
  async kindOf(module: string, sections: Sections, files?: ModuleFiles): Promise<string> {
    const { kind, output } = await this.apply(module, sections, files);
    assert.notEqual(kind, 'failed', output);
    return kind;
  }
}
