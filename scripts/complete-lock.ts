import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Adds optional packages (binaries of other platforms) that package-lock.json lacks. `npm install` leaves an optional package out
 * of the lock if the registry does not have that version, as a mirror may not. Then every `npm ci` ends with "Missing:
 * @swc/core-darwin-arm64@ from lock file". test/architecture/packages.test.ts says when this is needed. Run `npx tsx
 * scripts/complete-lock.ts`; no other step is needed.
 */
interface LockedPackage {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

const FILE = new URL('../package-lock.json', import.meta.url);
/** The end of a package's name, such as `linux-arm64-gnu`, says where the package can be installed. */
const PLATFORM =
  /(android|darwin|freebsd|linux|openharmony|win32)-(arm64|arm|ia32|ppc64|riscv64|s390x|x64)(?:-(gnu|musl))?/;
const LIBC: Readonly<Record<string, string>> = { gnu: 'glibc', musl: 'musl' };

const lock = JSON.parse(readFileSync(FILE, 'utf8')) as { packages: Record<string, LockedPackage> };
const added: Record<string, LockedPackage> = {};
for (const parent of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    const [, os, cpu, libc] = PLATFORM.exec(name) ?? [];
    if (lock.packages[`node_modules/${name}`] || os === undefined || cpu === undefined) continue;
    added[`node_modules/${name}`] = {
      version,
      cpu: [cpu],
      ...(parent.dev ? { dev: true } : {}),
      ...(libc === undefined ? {} : { libc: [LIBC[libc] ?? libc] }),
      optional: true,
      os: [os],
    };
  }
}
const [root, ...rest] = Object.entries({ ...lock.packages, ...added });
const sorted = rest.toSorted(([a], [b]) => a.localeCompare(b, 'en'));
const packages = Object.fromEntries([...(root === undefined ? [] : [root]), ...sorted]);
writeFileSync(FILE, `${JSON.stringify({ ...lock, packages }, null, 2)}\n`);
console.log(`${Object.keys(added).length} packages added to package-lock.json`);
