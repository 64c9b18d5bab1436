/**
 * Shell functions for modules that need packages. dpkg's lock is waited for, since a fresh TPU VM updates itself at first;
 * whoever holds it is never killed (facts/predecessors.md 1.3).
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
