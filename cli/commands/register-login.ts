import type { Command } from 'commander';
import { type Invocation, outputOption, withConnection } from '../terminal/options.js';
import type { LoginFlags, LogoutFlags, WhoamiFlags } from './verbs/login.js';

const LOGIN_NOTES = `
A browser opens at the issuer of the server, such as Google, and comes back to this computer. Where there is no browser or no terminal,
and with --device, jobctl prints an address and a code for the browser of any computer. The login is renewed as long as the issuer
permits. Tokens are kept in a file that only you can read (~/.local/state/jobctl-login). docs/login.md

A token is good wherever its audience (the client of a login in a browser) is accepted. The server names one, and you are shown or
asked whether it is that server's, once: the context keeps it. One that another server of yours has is refused.

--id-token-from stores no token: gcloud, the file or the variable is asked each time.

Examples:
  jobctl login
  jobctl login --context team --device
  jobctl login --server https://jobctl.example.com --id-token-from gcloud --audience https://jobctl.example.com
  jobctl login --id-token-from file:/var/run/secrets/tokens/jobctl
  curl -H "Authorization: Bearer $(jobctl login --print-token)" https://jobctl.example.com/v1/jobs
`;

const LOGOUT_NOTES = `
Jobs continue. The issuer is told, if it takes that.

Example:
  jobctl logout --context team
`;

const WHOAMI_NOTES = `
Without a jobctl serve, nobody verifies who you are, and it says so.

Example:
  jobctl whoami --context team
`;

/** Registers `jobctl login | logout | whoami`. */
export function registerLogin(program: Command, invocation: Invocation): void {
  const login = program
    .command('login')
    .summary('log in at a server')
    .description('Logs you in at a `jobctl serve`, by its OpenID Connect issuer.')
    .option('--device', 'show an address and a code for another browser')
    .option('--id-token-from <way>', 'gcloud, file:/PATH or env:NAME: the ID token is read there each time')
    .option('--print-token', 'print a valid ID token of your login, for other programs, and log nobody in')
    .option(
      '--audience <id>',
      'whom tokens for this server are made for (default: what you agree to at the first login)',
    )
    .option('--issuer <url>', 'the issuer, if the server accepts several (default: its first)')
    .addOption(outputOption())
    .addHelpText('after', LOGIN_NOTES);
  withConnection(login).action(async (flags: LoginFlags) => {
    const verbs = await import('./verbs/login.js');
    invocation.exitCode = await verbs.login(flags);
  });
  const logout = program
    .command('logout')
    .summary('forget the login at a server')
    .description('Removes your tokens for a `jobctl serve` from this computer.')
    .addOption(outputOption())
    .addHelpText('after', LOGOUT_NOTES);
  withConnection(logout).action(async (flags: LogoutFlags) => {
    const verbs = await import('./verbs/login.js');
    invocation.exitCode = await verbs.logout(flags);
  });
  const whoami = program
    .command('whoami')
    .summary('show whom the server knows you as')
    .description('Shows whom a server knows you as: name, groups, issuer, and when the token ends.')
    .addOption(outputOption())
    .addHelpText('after', WHOAMI_NOTES);
  withConnection(whoami).action(async (flags: WhoamiFlags) => {
    const verbs = await import('./verbs/login.js');
    invocation.exitCode = await verbs.whoami(flags);
  });
}
