#!/bin/sh
# The rehearsed cloud in a container: everything on loopback, so the worker shares its network (docker-compose.yml). Nobody else is in
# that network, so that who runs as the same user needs no token.
set -eu
state=/var/lib/jobctl
if [ ! -f "$state/ssh/id_ed25519" ]; then
  mkdir -p -m 700 "$state/ssh"
  ssh-keygen -q -t ed25519 -N '' -C jobctl-rehearsal -f "$state/ssh/id_ed25519"
fi
exec node /app/rehearsal/dist/main.js --state-dir "$state/rehearsal" --tpu-port 7301 --rest-port 7302 --store-port 7303 \
  --admin-port 7304 --ssh-port 2222 --subnet-octet 64 --callers login
