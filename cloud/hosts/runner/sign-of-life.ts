/**
 * While a run lasts its host writes an object into the store, again and again: the host's own sign of life, over a way that is
 * not the worker's (docs/adr/0046). Where it cannot (no curl, no right, no way to the store) it writes none, and nothing else
 * happens. The number in it counts what the store took: from 2 on the host has shown that it may also replace the object.
 */
export const SIGN_OF_LIFE = `
# sign ID SUPERVISOR: begins a while after the start, since most commands that fail do so at once.
verb_sign() {
  open_run "$1"
  sign_url=
  . "$run/plan"
  [ -n "$sign_url" ] && command -v curl > /dev/null || return 0
  signs=0
  sleep "$sign_after"
  while kill -0 "$2" 2>/dev/null && [ ! -f "$run/exit" ]; do
    put_sign $((signs + 1)) && signs=$((signs + 1))
    sleep "$sign_every"
  done
}

# URL and token go to curl on its stdin: neither is in a command line that others on the host may read.
put_sign() {
  config="url = \\"$sign_url\\""
  if [ "$sign_as" = service-account ]; then
    answer=$(curl --disable --silent --fail --noproxy '*' --connect-timeout 2 --max-time 4 --header 'Metadata-Flavor: Google' \\
      "http://\${GCE_METADATA_HOST:-metadata.google.internal}/computeMetadata/v1/instance/service-accounts/default/token") || return 1
    token=$(printf '%s' "$answer" | sed -n 's/.*"access_token" *: *"\\([^"]*\\)".*/\\1/p')
    [ -n "$token" ] || return 1
    config="$config
header = \\"Authorization: Bearer $token\\""
  fi
  printf '%s\\n' "$config" | curl --config - --silent --fail --globoff --connect-timeout 5 --max-time 30 --output /dev/null \\
    --header 'Content-Type: application/json' --data-binary '{"v":1,"run":"'"$id"'","signs":'"$1"'}'
}
`;
