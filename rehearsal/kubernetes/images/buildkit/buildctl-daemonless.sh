#!/bin/sh
# BuildKit as a pod of a rehearsed cluster has it: fetches the commit, looks for the Dockerfile and runs its lines RUN on the system of
# this pod, one after the other. FROM and COPY are printed and not done, nothing is pushed, and the digest is made of the inputs.
# Words and codes: buildctl 0.20 with `--progress plain`, whose output is on stderr.
set -u
say() { printf '%s\n' "$*" >&2; }
fail() {
  say "------"
  say "error: failed to solve: $*"
  exit 1
}

[ "${1:-}" = build ] || { say "buildctl-daemonless.sh: '${1:-}' is not known to this stand-in of the rehearsal"; exit 127; }
shift
inputs=$*
context='' dockerfile=Dockerfile metadata='' name='' secret=''
while [ $# -gt 0 ]; do
  key=$1 value=${2:-}
  case $key in
    --progress | --frontend | --ssh) ;;
    --secret) secret=${value#*src=} ;;
    --output) name=${value#*name=} name=${name%%,*} ;;
    --metadata-file) metadata=$value ;;
    --opt)
      case $value in
        context=*) context=${value#context=} ;;
        filename=*) dockerfile=${value#filename=} ;;
        build-arg:*) export "${value#build-arg:}" ;;
      esac
      ;;
    *) say "buildctl: $key is not known to this stand-in of the rehearsal"; exit 127 ;;
  esac
  shift 2 || exit 127
done

say "buildctl-daemonless.sh: stand-in of the rehearsal: RUN is run on this computer's system, and nothing is pushed"
url=${context%%#*} rest=${context#*#}
commit=${rest%%:*}
folder=${rest#"$commit"} folder=${folder#:}
tree=$(mktemp -d) || exit 1
say "#1 [internal] load git source $context"
export GIT_TERMINAL_PROMPT=0 GIT_CONFIG_GLOBAL=/dev/null
[ -z "$secret" ] || set -- -c "http.extraHeader=Authorization: Basic $(printf 'x-access-token:%s' "$(cat "$secret")" | base64 | tr -d '\n')"
{ git init -q "$tree" && git -C "$tree" "$@" fetch -q "$url" '+refs/*:refs/fetched/*' && git -C "$tree" checkout -q "$commit"; } >&2 ||
  fail "failed to load cache key: failed to fetch $url: exit status 128"
say "#1 DONE"
cd "$tree/$folder" 2>/dev/null || fail "failed to read dockerfile: $folder: no such file or directory"
[ -f "$dockerfile" ] || fail "failed to read dockerfile: open $dockerfile: no such file or directory"

# Lines that end with \ go on.
steps=$(sed -e ':next' -e '/\\$/N' -e 's/\\\n */ /' -e 't next' "$dockerfile" | grep -cE '^[A-Z]+ ')
number=1
sed -e ':next' -e '/\\$/N' -e 's/\\\n */ /' -e 't next' "$dockerfile" | grep -E '^[A-Z]+ ' >"$tree/.steps"
while read -r word line <&3; do
  number=$((number + 1))
  say "#$number [$((number - 1))/$steps] $word $line"
  if [ "$word" = RUN ]; then
    sh -c "$line" 3<&- >&2
    code=$?
    if [ $code -ne 0 ]; then
      say "#$number ERROR: process \"/bin/sh -c $line\" did not complete successfully: exit code: $code"
      fail "process \"/bin/sh -c $line\" did not complete successfully: exit code: $code"
    fi
  fi
  say "#$number DONE"
done 3<"$tree/.steps"

digest=sha256:$(printf '%s' "$inputs" | sha256sum | cut -d ' ' -f 1)
say "#$((number + 1)) exporting to image $name@$digest: REHEARSAL: it is not pushed"
[ -z "$metadata" ] || printf '{"containerimage.digest":"%s","image.name":"%s"}\n' "$digest" "$name" >"$metadata"
