/** The packages of this repository, and which compiled files each of them carries (docs/adr/0031). */
export interface PackageLayout {
  readonly name: string;
  /** Path from the root of the repository. The package's files are in its folder `dist`. */
  readonly folder: string;
  /** Compiled modules, without their ending, that the package offers. It also carries their imports, unless another does. */
  readonly entries: readonly string[];
  /** The entry that is bundled (scripts/bundle-cli.ts). It loads no other module of this package. */
  readonly bundled?: string;
  /** Entries whose declarations are published, with all declarations that these name. */
  readonly typed: readonly string[];
  /** Folders of sources that are this package's alone. Paths inside `dist` begin below `strip`. */
  readonly owns: readonly string[];
  readonly strip?: string;
}

/** In order of assignment: a module that two packages reach is carried by the first, and the second imports it from there. */
export const PACKAGES: readonly PackageLayout[] = [
  {
    name: '@jobctl/cloud-tpu-rehearsal',
    folder: 'rehearsal',
    entries: ['rehearsal/main', 'rehearsal/index', 'rehearsal/client-environment', 'rehearsal/script/read-script'],
    typed: ['rehearsal/index'],
    owns: ['rehearsal'],
    strip: 'rehearsal/',
  },
  {
    name: 'jobctl',
    folder: '.',
    entries: ['client/index', 'cli/main', 'contract/index'],
    bundled: 'cli/main',
    typed: ['client/index', 'contract/index'],
    owns: ['client', 'cli'],
  },
  {
    name: '@jobctl/worker',
    folder: 'worker',
    entries: [
      'worker/config',
      'worker/run-worker',
      'worker/kubernetes-library',
      'worker/cloud-tpu-connection',
      'server/config',
      'server/run-server',
      'server/run-ui',
      'server/dear-tasks',
      'workflows/failure-converter',
      'workflows/payload-converter',
    ],
    typed: [],
    owns: ['worker', 'server', 'activities'],
  },
];

/** Specifier by which the other packages import a module. It is no public interface. */
export const internalSpecifier = ({ name, strip = '' }: PackageLayout, module: string): string =>
  `${name}/internal/${module.slice(strip.length)}`;
