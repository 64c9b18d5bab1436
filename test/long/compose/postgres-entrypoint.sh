#!/bin/bash
# What the official image's entry point does with the variables that docker-compose.yml sets, in its order.
set -eu
mkdir -p "$PGDATA"
chmod 700 "$PGDATA" || :
chmod 3775 /var/run/postgresql || :
if [ "$(id -u)" = 0 ]; then
  chown -R postgres "$PGDATA" /var/run/postgresql
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --username="$POSTGRES_USER" --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD")
  printf '\nhost all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
  # On its socket alone until it is whole.
  pg_ctl -o "-c listen_addresses=''" -w start
  createdb --username "$POSTGRES_USER" "$POSTGRES_USER"
  pg_ctl -m fast -w stop
fi
exec "$@"
