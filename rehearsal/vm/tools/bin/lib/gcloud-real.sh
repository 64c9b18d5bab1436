# shellcheck shell=sh disable=SC2154
# Sourced by gcloud and bq: the environment in which Google's own gcloud calls only the rehearsal.

# Port 9 discards: a call to an API that is not rehearsed is refused at once and never reaches Google.
rest=${REHEARSAL_REST_URL:-http://127.0.0.1:9}
export CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE="${REHEARSAL_STORE_URL:-http://127.0.0.1:9}/storage/v1/"
export CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU="$rest/" CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE="$rest/compute/v1/"
for api in CLOUDRESOURCEMANAGER IAM SERVICEUSAGE; do export "CLOUDSDK_API_ENDPOINT_OVERRIDES_$api=$rest/"; done
export CLOUDSDK_CORE_DISABLE_USAGE_REPORTING=true CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK=true
export CLOUDSDK_CORE_DISABLE_FILE_LOGGING=true CLOUDSDK_CORE_SURVEY_DISABLE_PROMPTS=true

# Cloud TPU asks for a token of the VM's service account; the store knows a VM by its login. With TLS the VM's service account is its metadata server's.
case ${REHEARSAL_STORE_URL:-} in
  https:*)
    export GCE_METADATA_ROOT="${GCE_METADATA_HOST:-metadata.google.internal}"
    [ -z "${NODE_EXTRA_CA_CERTS:-}" ] || export CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE="$NODE_EXTRA_CA_CERTS" ;;
  *)
    . "$here/lib/gcloud-auth.sh"
    token=$state/gcloud-token
    if [ "$group" = compute ] && (umask 077 && print_token compute >"$token"); then
      export CLOUDSDK_AUTH_ACCESS_TOKEN_FILE="$token"
    else
      export CLOUDSDK_AUTH_DISABLE_CREDENTIALS=true
    fi ;;
esac

# A VM's gcloud uses the VM's project until another is set. `config list` shows only what was set, so it does not get this one.
properties=${CLOUDSDK_CONFIG:-${HOME:-/root}/.config/gcloud}/configurations/config_${CLOUDSDK_ACTIVE_CONFIG_NAME:-default}
if [ -z "${CLOUDSDK_CORE_PROJECT:-}" ] && ! grep -q '^project *=' "$properties" 2>/dev/null; then
  case "$group $* " in config*' project '* | config*core/project*' set '*) ;; *) export CLOUDSDK_CORE_PROJECT="${REHEARSAL_PROJECT:-}" ;; esac
fi
