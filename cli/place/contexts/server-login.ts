import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fileErrorWords } from '../../../domain/error-words.js';
import { modeForOthers } from '../../../domain/file-mode.js';
import type { TemporalOptions } from '../../../client/connect.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { Environment } from '../../terminal/home.js';
import type { Settings } from '../../terminal/settings.js';

/**
 * TLS and API key of a context, read from the files and variables that it names.
 * @param name the context's, for messages
 * @throws CliError (Usage) if a file or variable is missing, or others can read a private file
 */
export function serverLogin(
  login: Settings,
  name: string,
  env: Environment = process.env,
): NonNullable<TemporalOptions['connection']> {
  const file = (key: 'tls_ca_file' | 'tls_cert_file' | 'tls_key_file'): Buffer | undefined => {
    const path = login[key];
    return path === undefined ? undefined : readFile(path, `context ${name}: ${key}`, key === 'tls_key_file');
  };
  const [ca, crt, key] = [file('tls_ca_file'), file('tls_cert_file'), file('tls_key_file')];
  if ((crt === undefined) !== (key === undefined))
    throw new CliError(
      ExitCode.Usage,
      `context ${name}: tls_cert_file and tls_key_file belong together, and ${crt === undefined ? 'tls_cert_file' : 'tls_key_file'} is missing`,
      `jobctl context set ${name} --${crt === undefined ? 'tls-cert-file' : 'tls-key-file'} FILE`,
    );
  const apiKey = login.api_key === undefined ? undefined : keyBehind(login.api_key, name, env);
  const isTls = Boolean(login.tls ?? login.tls_server_name ?? ca ?? crt);
  const pair = crt && key && { clientCertPair: { crt, key } };
  const server = login.tls_server_name === undefined ? {} : { serverNameOverride: login.tls_server_name };
  const tls = { ...server, ...(ca && { serverRootCACertificate: ca }), ...pair };
  return { ...(isTls || apiKey !== undefined ? { tls } : {}), ...(apiKey === undefined ? {} : { apiKey }) };
}

function keyBehind(reference: string, name: string, env: Environment): string {
  const place = `context ${name}: api_key`;
  if (reference.startsWith('env:')) {
    const variable = reference.slice('env:'.length);
    const value = env[variable]?.trim();
    if (value) return value;
    throw new CliError(
      ExitCode.Usage,
      `${place}: the environment variable ${variable} is not set`,
      'its value is the API key',
    );
  }
  const text = readFile(fileURLToPath(reference), place, true).toString().trim();
  if (text !== '') return text;
  throw new CliError(ExitCode.Usage, `${place}: ${reference} is empty`, 'it holds the API key, alone');
}

function readFile(path: string, place: string, isPrivate: boolean): Buffer {
  try {
    const mode = isPrivate ? modeForOthers(statSync(path).mode) : undefined;
    if (mode !== undefined)
      throw new CliError(ExitCode.Usage, `${place}: ${path}: others can read it (mode ${mode})`, `chmod 600 ${path}`);
    return readFileSync(path);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(
      ExitCode.Usage,
      `${place}: ${path} cannot be read: ${fileErrorWords(error)}`,
      '`jobctl context show` shows where each setting comes from',
    );
  }
}
