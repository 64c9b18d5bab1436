# shellcheck shell=sh disable=SC2154
# Sourced by conda: environments as venvs under $base/envs.

prefix_of() { case $1 in base) echo "$base" ;; */*) printf '%s\n' "$1" ;; *) printf '%s/envs/%s\n' "$base" "$1" ;; esac; }
not_an_environment() {
  case $1 in
    */*) printf '\nEnvironmentLocationNotFound: Not a conda environment: %s\n\n' "$1" >&2 ;;
    *) printf '\nEnvironmentNameNotFound: Could not find conda environment: %s\nYou can list all discoverable environments with `conda info --envs`.\n\n' "$1" >&2 ;;
  esac
}
not_available() { # SPECIFICATION..
  printf '\nPackagesNotFoundError: The following packages are not available from current channels:\n\n' >&2
  for word in "$@"; do printf '  - %s\n' "$word" >&2; done
  echo "conda: stand-in of the rehearsal: it has the Pythons of this computer and the packages of pip" >&2
  exit 1
}

list_environments() {
  printf '# conda environments:\n#\n%-24s %s\n' base "$base"
  for folder in "$base"/envs/*/; do [ ! -d "$folder/conda-meta" ] || printf '%-24s %s\n' "$(basename "$folder")" "${folder%/}"; done
  cat "$state/conda-prefixes" 2>/dev/null | while read -r folder; do [ ! -d "$folder/conda-meta" ] || printf '%-24s %s\n' '' "$folder"; done
  echo
}

# Options that create, install and remove share; leaves prefix, name, all and packages (a word each).
read_environment_options() {
  prefix='' name='' all='' packages='' file='' newline='
'
  while [ $# -gt 0 ]; do
    case $1 in
      -n | --name) name=$2; shift ;;
      --name=*) name=${1#*=} ;;
      -p | --prefix) prefix=$2; shift ;;
      --prefix=*) prefix=${1#*=} ;;
      -c | --channel | --solver) shift ;;
      --channel=* | --solver=* | -y | --yes | -q | --quiet | --override-channels | --strict-channel-priority | -v | --verbose | --freeze-installed | --no-default-packages | -k | --force-reinstall) ;;
      -f | --file) file=$2; shift ;;
      --file=*) file=${1#*=} ;;
      --all) all=1 ;;
      -*) not_known "option $1 of $verb" ;;
      *) packages=$packages$1$newline ;;
    esac
    shift
  done
  [ -z "$name" ] || prefix=$(prefix_of "$name")
}

# python_for VERSION: the interpreter of that version, or of any if it is empty.
python_for() {
  if [ -z "$1" ]; then on_path python3; return; fi
  major_minor=$(printf '%s' "$1" | cut -d. -f1,2)
  found=$(on_path "python$major_minor") || found=$(on_path python3) || return 1
  case $("$found" -c 'import platform; print(platform.python_version())' 2>/dev/null). in "$1".*) printf '%s\n' "$found" ;; *) return 1 ;; esac
}

make_environment() { # PREFIX PACKAGES: python=3.10, numpy=1.26, ..
  version='' wants_python='' others=''
  for word in $2; do
    case $word in
      python) wants_python=1 ;;
      python[=\<\>]*) wants_python=1 version=$(printf '%s' "$word" | sed 's/^python[=<>]*//; s/\.\*$//; s/[=,].*//') ;;
      pip | setuptools | wheel | pip[=\<\>]*) wants_python=1 ;;
      *) wants_python=1 others="$others $word" ;;
    esac
  done
  mkdir -p "$1/conda-meta" "$1/bin"
  if [ -n "$wants_python" ]; then
    if python=$(python_for "$version"); then "$python" -m venv "$1" || exit 1
    elif uv=$(on_path uv); then "$uv" -q venv --seed --allow-existing --python "$version" "$1" || not_available "python=$version*"
    else rmdir "$1/conda-meta" "$1/bin" "$1"; not_available "python=$version*"; fi
  fi
  case $1 in "$base"/envs/*) ;; *) printf '%s\n' "$1" >>"$state/conda-prefixes" ;; esac
  [ -z "$others" ] || add_packages "$1" "$others"
}

add_packages() { # PREFIX PACKAGES
  wanted=''
  for word in $2; do
    # conda's a=1.2 is pip's a==1.2, and channel::a is a.
    wanted="$wanted $(printf '%s' "${word##*::}" | sed -E 's/([^=<>!~])=([^=])/\1==\2/')"
  done
  # shellcheck disable=SC2086
  "$1/bin/python" -m pip install --disable-pip-version-check --no-input -q $wanted >&2 || not_available $wanted
}

conda_create() {
  read_environment_options "$@"
  [ -n "$prefix" ] || { echo 'usage: conda create [-h] [-n ENVIRONMENT | -p PATH] [package_spec ...]' >&2; echo 'conda create: error: one of the arguments -n/--name -p/--prefix is required' >&2; exit 2; }
  [ -z "$file" ] || packages="$packages$(grep -vE '^(#|@|$)' "$file")" || exit 1
  [ "$prefix" != "$base" ] || { printf '\nCondaValueError: The target prefix is the base prefix. Aborting.\n\n' >&2; exit 1; }
  [ ! -d "$prefix/conda-meta" ] || rm -rf "$prefix"
  make_environment "$prefix" "$packages"
  printf '#\n# To activate this environment, use\n#\n#     $ conda activate %s\n#\n' "${name:-$prefix}"
}

existing_environment() {
  [ -n "$prefix" ] || prefix=${CONDA_PREFIX:-$base}
  [ -d "$prefix/conda-meta" ] || { not_an_environment "${name:-$prefix}"; exit 1; }
}

conda_install() {
  read_environment_options "$@"
  existing_environment
  [ -z "$file" ] || packages="$packages$(grep -vE '^(#|@|$)' "$file")" || exit 1
  [ "$prefix" != "$base" ] || not_known 'an installation into base'
  if [ -e "$prefix/bin/python" ]; then add_packages "$prefix" "$packages"; else make_environment "$prefix" "$packages"; fi
}

conda_remove() {
  read_environment_options "$@"
  existing_environment
  if [ -n "$all" ]; then printf '\nRemove all packages in environment %s:\n\n' "$prefix"; rm -rf "$prefix"; return; fi
  # shellcheck disable=SC2086
  "$prefix/bin/python" -m pip uninstall -y -q $packages >&2
}
conda_uninstall() { conda_remove "$@"; }

conda_list() {
  read_environment_options "$@"
  existing_environment
  printf '# packages in environment at %s:\n#\n' "$prefix"
  [ ! -e "$prefix/bin/python" ] || "$prefix/bin/python" -m pip list --disable-pip-version-check --format=freeze | sed 's/==/ /'
}

conda_run() {
  prefix='' name='' folder=''
  while [ $# -gt 0 ]; do
    case $1 in
      -n | --name) name=$2 prefix=$(prefix_of "$2"); shift ;;
      --name=*) name=${1#*=} prefix=$(prefix_of "${1#*=}") ;;
      -p | --prefix) prefix=$2; shift ;;
      --prefix=*) prefix=${1#*=} ;;
      --cwd) folder=$2; shift ;;
      --cwd=*) folder=${1#*=} ;;
      --no-capture-output | --live-stream | -s | -v | --verbose) ;;
      --) shift; break ;;
      -*) not_known "option $1 of run" ;;
      *) break ;;
    esac
    shift
  done
  existing_environment
  [ $# -gt 0 ] || { echo 'conda run: error: the following arguments are required: executable_call' >&2; exit 2; }
  PATH=$prefix/bin:$(path_without "${CONDA_PREFIX:-}/bin") CONDA_PREFIX=$prefix CONDA_DEFAULT_ENV=${name:-$prefix}
  export PATH CONDA_PREFIX CONDA_DEFAULT_ENV
  [ -z "$folder" ] || cd "$folder" || exit 1
  on_path "$1" >/dev/null || { echo "$1: command not found" >&2; exit 127; }
  exec "$@"
}
