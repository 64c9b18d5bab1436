/** Shell functions that several modules' scripts use on hosts. */

/**
 * `apt_install PACKAGE..` installs Debian packages. `apt` is apt-get with `$as_root` in front. Waits for dpkg's lock, because a
 * fresh TPU VM updates itself first, and never kills the lock's holder (docs/facts.md, "Predecessors").
 */
export const APT_FUNCTIONS = `as_root=
[ "$(id -u)" = 0 ] || as_root='sudo -n'
apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 "$@"; }
apt_install() {
  if ! command -v apt-get > /dev/null || ! $as_root true 2> /dev/null; then
    echo "$* is not installed, and there is no apt-get with sudo to install it: do it in tpu.startup_script" >&2
    return 1
  fi
  apt install -y "$@" || { apt update && apt install -y "$@"; }
}
`;

/**
 * `another_second MARK UNDER_WAY` waits, at most one second, until new files get another modification second than MARK, which
 * the script's last run touched at its end. If UNDER_WAY exists, that run was cut off, and the function always waits. Without
 * this, Python takes a changed module of the same size and second for the one that it compiled (docs/adr/0028).
 */
export const ANOTHER_SECOND = `another_second() {
  touch -- "$1.now" || return 1
  # The time that new files get may be some ms behind the clock.
  if [ -e "$2" ] || [ "$(stat -c %Y -- "$1" 2> /dev/null)" = "$(stat -c %Y -- "$1.now")" ]; then sleep 1; fi
  rm -f -- "$1.now"
}
`;

/** Precedes a user's text: `python3 train.py | tee log` fails if train.py does (docs/adr/0123). */
export const PIPEFAIL = 'set -o pipefail; ';

/** `vm_token` prints the token of the VM's service account, or nothing if it has none. The on-host runner uses it too. */
export const VM_TOKEN = `
vm_token() {
  curl --disable --silent --fail --noproxy '*' --connect-timeout 2 --max-time 4 --header 'Metadata-Flavor: Google' \\
    "http://\${GCE_METADATA_HOST:-metadata.google.internal}/computeMetadata/v1/instance/service-accounts/default/token" |
    sed -n 's/.*"access_token" *: *"\\([^"]*\\)".*/\\1/p'
}
`;

/**
 * `$curlrc`: the login user's own configuration of curl (a proxy, an authority). It is repeated for each request, because curl
 * itself would use it for the first one only. The on-host runner uses it too.
 */
export const CURLRC = `curlrc=$(for file in \${CURL_HOME:+"$CURL_HOME/.curlrc"} "\${XDG_CONFIG_HOME:-$HOME/.config}/curlrc" ~/.curlrc; do
  [ ! -r "$file" ] || { cat "$file"; break; }
done)
`;
