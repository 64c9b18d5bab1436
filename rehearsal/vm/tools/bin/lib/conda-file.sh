# shellcheck shell=sh disable=SC2154
# Sourced by conda: `env create -f environment.yml`. Of YAML it reads what these files are made of: name, and a list of
# dependencies with a list under `- pip:`.

from_file() { # create | update, OPTION..
  verb="env $1"
  shift
  asked_file=environment.yml prune=''
  for word in "$@"; do [ "$word" != --prune ] || prune=1; done
  [ -z "$prune" ] || not_known '--prune'
  read_environment_options "$@"
  [ -z "$file" ] || asked_file=$file
  [ -r "$asked_file" ] || { printf "\nEnvironmentFileNotFound: '%s' file not found\n\n" "$asked_file" >&2; exit 1; }
  if [ -z "$prefix" ]; then
    name=$(sed -n 's/^name:[[:space:]]*//p' "$asked_file" | sed "s/[\"' ]//g")
    [ -n "$name" ] || { printf '\nSpecNotFound: Name is required\n\n' >&2; exit 1; }
    prefix=$(prefix_of "$name")
  fi
  of_conda=$(dependencies conda "$asked_file") of_pip=$(dependencies pip "$asked_file")
  if [ "$verb" = 'env create' ]; then
    [ ! -d "$prefix/conda-meta" ] || { case " $* " in *' -y '* | *' --yes '*) rm -rf "$prefix" ;; *)
      printf '\nCondaValueError: prefix already exists: %s\n\n' "$prefix" >&2; exit 1 ;; esac; }
    make_environment "$prefix" "$of_conda"
  else
    existing_environment
    others=$(printf '%s\n' "$of_conda" | grep -vE '^(python|pip)([=<>]|$)')
    [ -z "$others" ] || add_packages "$prefix" "$others"
  fi
  if [ -n "$of_pip" ]; then
    [ -e "$prefix/bin/python" ] || make_environment "$prefix" pip
    list=$(mktemp)
    printf '%s\n' "$of_pip" >"$list"
    (cd "$(dirname "$asked_file")" && "$prefix/bin/python" -m pip install --disable-pip-version-check --no-input -q -r "$list" >&2) || {
      rm -f "$list"; printf '\nCondaEnvException: Pip failed\n\n' >&2; exit 1; }
    rm -f "$list"
  fi
  printf '#\n# To activate this environment, use\n#\n#     $ conda activate %s\n#\n' "${name:-$prefix}"
}

dependencies() { # conda | pip, FILE
  awk -v wanted="$1" '
    /^[a-zA-Z]/ { inside = /^dependencies:/; next }
    !inside || /^[[:space:]]*(#|$)/ { next }
    {
      match($0, /^ */); indent = RLENGTH
      line = $0; sub(/^ *- */, "", line); sub(/ +#.*$/, "", line); gsub(/["'"'"']/, "", line)
      if (line == "pip:") { pip = indent + 1; next }
      if (pip && indent >= pip) { if (wanted == "pip") print line; next }
      pip = 0
      gsub(/ /, "", line)
      if (wanted == "conda") print line
    }' "$2"
}
