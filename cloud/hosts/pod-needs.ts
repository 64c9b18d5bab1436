/**
 * Programs that the on-host runner and a command need in a pod's image (docs/runner.md), with the package of each. A VM of Cloud
 * TPU has all of them. Programs of busybox have the names but lack options that are tested below.
 */
const TOOLS: Readonly<Record<string, string>> = {
  bash: 'bash',
  flock: 'util-linux',
  setsid: 'util-linux',
  awk: 'mawk or gawk',
  find: 'findutils',
  grep: 'grep',
  sed: 'sed',
  ...Object.fromEntries(
    [
      ...[
        'base64',
        'cat',
        'chmod',
        'cp',
        'cut',
        'date',
        'dd',
        'dirname',
        'head',
        'id',
        'mkdir',
        'mkfifo',
        'mv',
        'paste',
        'rm',
      ],
      ...['sha256sum', 'sleep', 'sort', 'stat', 'sync', 'tail', 'timeout', 'tr', 'wc'],
    ].map((tool) => [tool, 'coreutils']),
  ),
};

/** Options of GNU's programs that others lack, each with a test. */
const OPTIONS: Readonly<Record<string, string>> = {
  'coreutils: date +%s%3N': 'case $(date +%s%3N) in *[!0-9]* | "") false ;; esac',
  'coreutils: stat -c %.3Y': 'case $(LC_ALL=C stat -c %.3Y /) in *.*) ;; *) false ;; esac',
  'coreutils: tail --pid': 'tail --pid=$$ -c +1 /dev/null',
  'util-linux: setsid -f': 'setsid -f true',
  'grep: grep -z': 'printf "a\\0b" | grep -qzFx -e b',
  'bash 4.4 or later': "bash -c '[ $((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1])) -ge 404 ]'",
};

/** Prints a line for each missing program or option, and nothing if all are there. Written in sh without any other program. */
export const NEEDS_SCRIPT = [
  'missing=',
  `for need in ${Object.entries(TOOLS)
    .map(([tool, from]) => `'${tool} (${from})'`)
    .join(' ')}; do command -v "\${need%% *}" > /dev/null || { echo "$need"; missing=yes; }; done`,
  '[ -z "$missing" ] || exit 0',
  ...Object.entries(OPTIONS).map(([what, test]) => `{ ${test}; } > /dev/null 2>&1 || echo '${what}'`),
  '{ mkdir -p "$HOME/.jobctl" && : > "$HOME/.jobctl/writable"; } 2> /dev/null || echo "a home folder that its user may write in: HOME is \'$HOME\'"',
].join('\n');

/** @param lines the script's output */
export function unfitImage(image: string, lines: string): string | undefined {
  const missing = lines.split('\n').filter((line) => line !== '');
  if (missing.length === 0) return undefined;
  return (
    `image ${image} lacks what jobctl's runner needs: ${missing.join(', ')}; ` +
    'install it in the image (Debian: apt-get install -y bash coreutils findutils grep sed mawk util-linux)'
  );
}
