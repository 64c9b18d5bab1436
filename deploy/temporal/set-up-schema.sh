#!/bin/sh
# Both databases of the Temporal server, made or brought up to date. Repeating is safe. Runs before each start of the server, so
# that an upgrade of the server upgrades the schema first. Needs temporal-sql-tool of the server's own version, and in the
# environment POSTGRES_HOST, POSTGRES_PORT (5432), POSTGRES_USER, POSTGRES_PASSWORD.
set -eu
export SQL_PLUGIN=postgres12 SQL_HOST="$POSTGRES_HOST" SQL_PORT="${POSTGRES_PORT:-5432}"
export SQL_USER="$POSTGRES_USER" SQL_PASSWORD="$POSTGRES_PASSWORD"

# set_up DATABASE SCHEMA: the schema's files are inside the tool.
set_up() {
  temporal-sql-tool --database "$1" create-database
  # Only the tables that hold the version; it leaves a schema that is there as it is.
  temporal-sql-tool --database "$1" setup-schema --version 0.0
  temporal-sql-tool --database "$1" update-schema --schema-name "$2"
}
set_up temporal postgresql/v12/temporal
set_up temporal_visibility postgresql/v12/visibility
echo 'schema: done'
