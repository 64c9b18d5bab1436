/** The packages of this repository, and which compiled files each of them carries (docs/adr/0031). */
export interface PackageLayout {
  readonly name: string;
  /** From the root of the repository; the package's files are in the folder `dist` there. */
  readonly folder: string;
  /** Compiled modules, without their ending, that the package offers. It carries what they import, unless another does. */
  readonly entries: readonly string[];
  /** Of these, the one that is bundled (scripts/bundle-cli.ts): it needs no other module of this package. */
  readonly bundled?: string;
  /** .. whose declarations are published, with all that these name. */
  readonly typed: readonly string[];
  /** Folders of sources that are this package's alone. Paths inside `dist` begin below `strip`. */
  readonly owns: readonly string[];
  readonly strip?: string;
}

/** In the order of assignment: a module that two of them reach is carried by the first, and imported from there by the second. */
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
      'server/dear-tasks',
      'workflows/failure-converter',
      'workflows/payload-converter',
    ],
    typed: [],
    owns: ['worker', 'server', 'activities'],
  },
];

/** How other packages of ours name a module; it is no public interface. */
export const internalSpecifier = ({ name, strip = '' }: PackageLayout, module: string): string =>
  `${name}/internal/${module.slice(strip.length)}`;
