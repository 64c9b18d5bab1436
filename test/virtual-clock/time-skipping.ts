import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Connection, type ConnectionOptions } from '@temporalio/client';
import { InternalConnectionOptionsSymbol } from '@temporalio/client/lib/connection.js';
import { msToTs, tsToMs } from '@temporalio/common/lib/time.js';
import { cachedCliPath } from '../../cli/local/dev/temporal-server/executables.js';
import { JOB_SEARCH_ATTRIBUTES, KEYWORD } from '../../domain/temporal-server.js';
import { freePort } from '../temporal-server.js';
import { until } from '../until.js';

/** Temporal's test server, whose time jumps to the next timer. Published to Maven Central as Java classes alone. */
const ARTIFACT = { group: 'io.temporal', name: 'temporal-test-server', version: '1.31.0' };
const MAIN = 'io.temporal.testserver.TestServer';
const QUICK_START = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];
const START_TIMEOUT_MS = 60_000;
const run = promisify(execFile);

/** A server of one's own, and its clock. */
export interface TimeSkippingServer {
  readonly address: string;
  readonly connection: Connection;
  /** Lets virtual time pass, at once. */
  pass(ms: number): Promise<void>;
  /** In ms since 1970. */
  now(): Promise<number>;
  stop(): Promise<void>;
}

/**
 * Time jumps to the next timer whenever no activity is under way. Started without the SDK's `TestWorkflowEnvironment`, which gives
 * a server five seconds: a busy computer needs more for a JVM. Rejects, never skips, when there is no Java, or no Maven to get
 * the server with (docs/adr/0053).
 */
export async function startTimeSkippingServer(): Promise<TimeSkippingServer> {
  const jars = join(dirname(dirname(dirname(cachedCliPath(process.env)))), ARTIFACT.name, ARTIFACT.version);
  if (!existsSync(jars)) await fetchJars(jars);
  const port = await freePort();
  const server = spawn('java', [...QUICK_START, '-cp', `${jars}/*`, MAIN, String(port), '--enable-time-skipping'], {
    stdio: 'ignore',
  });
  const kill = (): void => void server.kill('SIGKILL');
  process.once('exit', kill);
  const address = `127.0.0.1:${port}`;
  const connection = await until('the time-skipping server answers', () => connect(address), START_TIMEOUT_MS);
  const { testService } = connection;
  if (testService === undefined) throw new TypeError('a connection without the test service');
  const searchAttributes = Object.fromEntries(JOB_SEARCH_ATTRIBUTES.map((name) => [name, KEYWORD]));
  await connection.operatorService.addSearchAttributes({ namespace: 'default', searchAttributes });
  return {
    address,
    connection,
    pass: async (ms) => {
      await testService.unlockTimeSkippingWithSleep({ duration: msToTs(ms) });
    },
    now: async () => tsToMs((await testService.getCurrentTime({})).time),
    stop: async () => {
      await connection.close();
      process.removeListener('exit', kill);
      const ended = once(server, 'exit');
      kill();
      await ended;
    },
  };
}

const connect = (address: string): Promise<Connection> =>
  Connection.connect({
    address,
    connectTimeout: '1s',
    [InternalConnectionOptionsSymbol]: { supportsTestService: true },
  } as ConnectionOptions);

/** 33 MB, once per user. */
async function fetchJars(jars: string): Promise<void> {
  mkdirSync(dirname(jars), { recursive: true });
  // Beside its goal: a rename across file systems is not atomic.
  const scratch = mkdtempSync(join(dirname(jars), 'scratch-'));
  try {
    writeFileSync(join(scratch, 'pom.xml'), POM);
    await run('mvn', ['-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=jars'], { cwd: scratch });
    if (!existsSync(jars)) renameSync(join(scratch, 'jars'), jars);
  } catch (error) {
    throw new Error(`Temporal's test server could not be fetched from Maven Central: install Java 17 and Maven`, {
      cause: error,
    });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>jobctl</groupId><artifactId>test</artifactId><version>1</version>
<dependencies><dependency>
<groupId>${ARTIFACT.group}</groupId><artifactId>${ARTIFACT.name}</artifactId><version>${ARTIFACT.version}</version>
</dependency></dependencies></project>
`;
