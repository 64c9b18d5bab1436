#!/bin/sh
# The role that the Temporal server works as: it reads and writes rows of both databases and can change no table, so whoever takes
# the server over is no superuser of PostgreSQL. Runs after the schema and before each start of the server: a new table needs its
# rights, and a new password is taken over. Repeating is safe. Needs psql 15 or newer, and in the environment POSTGRES_HOST,
# POSTGRES_PORT (5432), POSTGRES_USER and POSTGRES_PASSWORD of the owner, POSTGRES_SERVER_USER, POSTGRES_SERVER_PASSWORD.
set -eu
[ "$POSTGRES_SERVER_USER" != "$POSTGRES_USER" ] ||
  { echo "POSTGRES_SERVER_USER is $POSTGRES_USER, who owns the databases: name another role" >&2 && exit 1; }
export PGHOST="$POSTGRES_HOST" PGPORT="${POSTGRES_PORT:-5432}" PGUSER="$POSTGRES_USER" PGPASSWORD="$POSTGRES_PASSWORD"

# sql DATABASE: what it reads, as the owner. Values come from the environment: arguments are in the list of processes.
sql() {
  psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --dbname "$1"
}

sql postgres <<'SQL'
\getenv role POSTGRES_SERVER_USER
\getenv password POSTGRES_SERVER_PASSWORD
SELECT format('CREATE ROLE %I', :'role') WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'role') \gexec
ALTER ROLE :"role" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'password';
SQL

for database in temporal temporal_visibility; do
  sql "$database" <<'SQL'
\getenv role POSTGRES_SERVER_USER
BEGIN;
-- By default everybody may connect, and make temporary tables; before PostgreSQL 15, tables too.
REVOKE ALL ON DATABASE :"DBNAME" FROM PUBLIC;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT CONNECT ON DATABASE :"DBNAME" TO :"role";
GRANT USAGE ON SCHEMA public TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO :"role";
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO :"role";
-- Which version the schema has is the schema tool's to say.
REVOKE INSERT, UPDATE, DELETE ON schema_version, schema_update_history FROM :"role";
COMMIT;
SQL
done
echo 'roles: done'
