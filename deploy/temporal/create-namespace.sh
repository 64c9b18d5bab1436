#!/bin/sh
# The namespace that jobctl works in, once the Temporal server answers real calls: its port, and its health service too, are
# there sooner. Repeating is safe. Needs the Temporal CLI, and in the environment TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE (default)
# and JOBCTL_RETENTION (720h: how long closed jobs stay in Temporal; their logs and outcomes stay in the bucket).
set -eu
namespace="${TEMPORAL_NAMESPACE:-default}"
tries=60
until said=$(temporal operator namespace describe --namespace "$namespace" --command-timeout 5s 2>&1); do
  case $said in
    *'is not found'*) temporal operator namespace create --namespace "$namespace" --retention "${JOBCTL_RETENTION:-720h}" --command-timeout 10s || true ;;
  esac
  tries=$((tries - 1))
  [ "$tries" -gt 0 ] || { echo "Temporal at ${TEMPORAL_ADDRESS:-127.0.0.1:7233}: $said" >&2; exit 1; }
  sleep 1
done
echo "namespace $namespace: done"
