# shellcheck shell=sh disable=SC2154
# Sourced by gcloud: the group auth. It uses the VM's metadata server, because a VM has no other login. A real login is not
# offered: it would put a person's own tokens on a rehearsed VM.

metadata() {
  [ -n "${GCE_METADATA_HOST:-}" ] || return 1
  curl -sf -m 5 -H 'Metadata-Flavor: Google' "http://$GCE_METADATA_HOST/computeMetadata/v1/instance/service-accounts/default/$1"
}
no_account() {
  printf 'ERROR: (gcloud.auth.%s) You do not currently have an active account selected.\nPlease run:\n\n  $ gcloud auth login\n\nto obtain new credentials.\n' "$1" >&2
  exit 1
}
print_token() {
  answer=$(metadata token) || no_account "$1"
  printf '%s\n' "$answer" | sed 's/.*"access_token" *: *"\([^"]*\)".*/\1/'
}

gcloud_auth() { # auth VERB..
  while [ "${1:-}" != auth ]; do shift; done
  shift
  verb=${1:-}
  [ $# -eq 0 ] || shift
  case $verb in
    print-access-token) print_token print-access-token ;;
    application-default) [ "${1:-}" = print-access-token ] || not_known "auth application-default ${1:-}"
      print_token application-default.print-access-token ;;
    list) account=$(cat "$state/account" 2>/dev/null || metadata email) || { printf '\nNo credentialed accounts.\n\nTo login, run:\n  $ gcloud auth login `ACCOUNT`\n\n' >&2; return 0; }
      case "$*" in *value\(account\)*) echo "$account" ;; *) printf 'ACTIVE  ACCOUNT\n*       %s\n' "$account" ;; esac ;;
    activate-service-account) activate "$@" ;;
    configure-docker) say_once 'no registry is asked, so that docker needs no credentials'
      printf '{"credHelpers": {"gcr.io": "gcloud"}}\n' >"$state/docker-config.json"
      echo "gcloud credential helpers already registered correctly." >&2 ;;
    revoke) rm -f "$state/account" ;;
    *) not_known "auth ${verb:-without a verb}" ;;
  esac
}

activate() {
  key=''
  while [ $# -gt 0 ]; do
    case $1 in --key-file) key=${2:-}; shift ;; --key-file=*) key=${1#*=} ;; --project | --quiet | -q | --project=*) ;; -*) not_known "option $1 of auth activate-service-account" ;; esac
    shift
  done
  [ -n "$key" ] || { echo 'ERROR: (gcloud.auth.activate-service-account) argument --key-file: Must be specified.' >&2; exit 2; }
  [ -r "$key" ] || { echo "ERROR: gcloud crashed (FileNotFoundError): [Errno 2] No such file or directory: '$key'" >&2; exit 1; }
  account=$(sed -n 's/.*"client_email" *: *"\([^"]*\)".*/\1/p' "$key")
  [ -n "$account" ] || { echo "ERROR: (gcloud.auth.activate-service-account) Could not read json file $key" >&2; exit 1; }
  say_once 'a key is read for its account and never used'
  printf '%s\n' "$account" >"$state/account"
  echo "Activated service account credentials for: [$account]" >&2
}
