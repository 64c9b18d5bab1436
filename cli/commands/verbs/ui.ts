import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as RunUi from '../../../server/run-ui.js';
import { userOf } from '../../place/asker.js';
import { openWritableStore, withClient } from '../../place/connect.js';
import { type ContextFlags, resolveContext, shortPlace } from '../../place/context.js';
import { browserOf, openBrowser } from '../../place/login/browser-login.js';
import { messageOf } from '../../../domain/errors.js';
import { bringPackages, serverModuleFile } from '../../place/packages.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { watchEnd } from '../../terminal/interruptions.js';
import { asTyped, printErr, printOut } from '../../terminal/print.js';

export interface UiFlags extends ContextFlags {
  /** False: `--no-open`. */
  readonly open: boolean;
  readonly port: number;
}

/** Shows jobs in a browser. A server has the page itself; over Temporal it is served here, until Ctrl-C. */
export async function ui(flags: UiFlags): Promise<number> {
  const context = resolveContext(flags);
  const browser = flags.open ? browserOf(process.env) : undefined;
  if (context.server !== undefined) {
    const page = `${context.server.url.replace(/\/$/, '')}/ui/`;
    // It answers, and knows who asks: a page that cannot be opened would say less.
    await withClient(context, (client) => client.whoAmI());
    printOut(`${page}\n`);
    printErr(asTyped('The server has the page: log in there with the token of `jobctl login --print-token`.\n'));
    if (browser !== undefined) openBrowser(browser, page);
    return ExitCode.Done;
  }
  return withClient(context, async (client) => {
    const store = await openWritableStore(context, 'the page could show no log');
    await bringPackages(['@jobctl/worker'], { onProgress: (line) => printErr(`${line}\n`) });
    const { startUi } = (await import(pathToFileURL(serverModuleFile('run-ui')).href)) as typeof RunUi;
    const running = await startUi({ client, store, user: userOf(context), port: flags.port }).catch(
      (error: unknown) => {
        throw portProblem(error, flags.port);
      },
    );
    let folder: string | undefined;
    try {
      const link = running.link();
      printErr(
        `The page of ${shortPlace(context) ?? 'Temporal'}, for you alone. The link is good once. Ctrl-C ends it.\n`,
      );
      printOut(`${link}\n`);
      if (browser !== undefined) folder = openLink(browser, link);
      const end = watchEnd();
      await new Promise<void>((resolve) => end.addEventListener('abort', () => resolve(), { once: true }));
    } finally {
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
      await running.close();
    }
    return ExitCode.Interrupted;
  });
}

/**
 * Opens a file, for this user alone, that leads to the link: a browser's arguments are seen by every user of the computer.
 * @returns the file's folder. Undefined: it cannot be written, and the link that was printed is opened by hand
 */
function openLink(browser: NonNullable<ReturnType<typeof browserOf>>, link: string): string | undefined {
  // The link is made of digits and letters that HTML leaves as they are.
  const html = `<!doctype html><meta http-equiv="refresh" content="0; url=${link}"><a href="${link}">jobctl</a>\n`;
  try {
    const folder = mkdtempSync(join(tmpdir(), 'jobctl-ui-'));
    const file = join(folder, 'jobctl.html');
    writeFileSync(file, html, { mode: 0o600 });
    openBrowser(browser, pathToFileURL(file).href);
    return folder;
  } catch (error) {
    printErr(`No browser is opened (${messageOf(error)}): open the link yourself.\n`);
    return undefined;
  }
}

function portProblem(error: unknown, port: number): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return error;
  return new CliError(
    ExitCode.Failed,
    `port ${port} of this computer is in use`,
    'name another one, or leave --port out: any that is free is taken',
  );
}
