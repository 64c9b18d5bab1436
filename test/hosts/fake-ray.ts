import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A program `ray` and a Python package `ray` that behave as Ray 2.60 does in what the script of a host asks of it: processes of its
 * names, in a tree below `ray start --block`, which looks at them once in a while; a port; nodes that join. The real one is in
 * test/long/ray.test.ts.
 */
export interface FakeRay {
  readonly folder: string;
  /** For a run. */
  readonly env: Readonly<Record<string, string>>;
  remove(): void;
}

const PROGRAM = `#!/usr/bin/env python3
import os, signal, socket, subprocess, sys, time
folder = os.environ["FAKE_RAY"]
flags = dict(word.split("=", 1) for word in sys.argv if "=" in word and word.startswith("--"))
assert os.environ["RAY_AUTH_MODE"] == "token" and "RAY_AUTH_TOKEN" not in os.environ
token = open(os.environ["RAY_AUTH_TOKEN_PATH"]).read()
is_head = "--head" in sys.argv
names = (["gcs_server"] if is_head else []) + ["raylet"]
if is_head:
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((flags["--node-ip-address"], int(flags["--port"])))
    server.listen(10)
    open(folder + "/token", "w").write(token)
elif open(folder + "/token").read() != token:
    sys.exit("wrong token")
parts = [subprocess.Popen([folder + "/bin/" + name, "3600"], start_new_session=True) for name in names]
node = folder + "/nodes/" + flags["--node-ip-address"]
if node not in os.environ.get("FAKE_RAY_NEVER", ""):
    open(node, "w").write(repr(sys.argv))
print("Ray runtime started.", flush=True)
def end(*_):
    for part in parts:
        part.kill()
    sys.exit(1)
signal.signal(signal.SIGTERM, end)
while True:
    time.sleep(0.2)
    if any(part.poll() not in (None, -15) for part in parts):
        end()
`;

const PACKAGE = `
import os
def is_initialized():
    return True
def nodes():
    return [{"NodeManagerAddress": name, "Alive": True} for name in os.listdir(os.environ["FAKE_RAY"] + "/nodes")]
`;

export function fakeRay(version = '2.60.0'): FakeRay {
  const folder = mkdtempSync(join(tmpdir(), 'fake-ray-'));
  for (const name of ['bin', 'nodes', 'python/ray', `python/ray-${version}.dist-info`])
    mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'bin/ray'), PROGRAM);
  chmodSync(join(folder, 'bin/ray'), 0o755);
  for (const name of ['raylet', 'gcs_server']) copyFileSync('/bin/sleep', join(folder, 'bin', name));
  writeFileSync(join(folder, 'python/ray/__init__.py'), PACKAGE);
  writeFileSync(
    join(folder, `python/ray-${version}.dist-info/METADATA`),
    `Metadata-Version: 2.1\nName: ray\nVersion: ${version}\n`,
  );
  const env = { FAKE_RAY: folder, PATH: `${folder}/bin:${process.env['PATH']}`, PYTHONPATH: `${folder}/python` };
  return { folder, env, remove: () => rmSync(folder, { recursive: true }) };
}
