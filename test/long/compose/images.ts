import { copyFileSync, cpSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { cached, temporalServerFolder, temporalUiFolder } from '../built-by-go.js';
import { run } from './command.js';
import type { Engine } from './engine.js';

/** The variables of docker-compose.yml, and the stand-in that each is given here. Each is a stage of stand-ins.Dockerfile. */
const STAND_INS = {
  NODE_IMAGE: 'node',
  POSTGRES_IMAGE: 'postgres',
  TEMPORAL_SERVER_IMAGE: 'temporal',
  TEMPORAL_ADMIN_TOOLS_IMAGE: 'admin-tools',
  TEMPORAL_UI_IMAGE: 'ui',
} as const;
const nameOf = (stage: string): string => `jobctl-test/${stage}:1`;

/** As docker compose takes it. */
export const IMAGE_VARIABLES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(STAND_INS).map(([variable, stage]) => [variable, nameOf(stage)]),
);

/** Makes them all, below `folder`. The first time: debootstrap and two builds by Go, some minutes each. */
export async function makeStandIns(engine: Engine, folder: string): Promise<void> {
  const debian = 'jobctl-test/debian:bookworm';
  // Imported anew it is another image, of which nothing is cached.
  if (engine.docker('images', '--quiet', debian) === '')
    engine.docker('import', join(await debianFolder(), 'root.tar'), debian);
  const context = join(folder, 'context');
  rmSync(context, { recursive: true, force: true });
  mkdirSync(context, { recursive: true });
  cpSync(await temporalServerFolder(), context, { recursive: true });
  cpSync(await temporalUiFolder(), join(context, 'ui-server'), { recursive: true });
  copyFileSync(join(import.meta.dirname, 'postgres-entrypoint.sh'), join(context, 'postgres-entrypoint.sh'));
  layNode(context);
  const file = join(import.meta.dirname, 'stand-ins.Dockerfile');
  for (const stage of Object.values(STAND_INS))
    engine.docker('build', '--network=host', '--file', file, '--target', stage, '--tag', nameOf(stage), context);
}

/** The Node.js and npm that run this, and whom they trust. */
function layNode(context: string): void {
  copyFileSync(process.execPath, join(context, 'node'));
  const npm = realpathSync(run('which', ['npm']).trim());
  cpSync(dirname(dirname(npm)), join(context, 'npm'), { recursive: true });
  const more = process.env['NODE_EXTRA_CA_CERTS'];
  const authorities = more === undefined ? rootCertificates.join('\n') : readFileSync(more, 'utf8');
  writeFileSync(join(context, 'authorities.crt'), authorities);
}

/** A folder with root.tar: a Debian of the required packages, as debootstrap makes it. */
function debianFolder(): Promise<string> {
  return cached('debian', 'bookworm', async (folder) => {
    const root = join(folder, 'root');
    run('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', root]);
    run('tar', ['--one-file-system', '-C', root, '-cf', join(folder, 'root.tar'), '.']);
    run('rm', ['-rf', root]);
  });
}
