# shellcheck shell=sh disable=SC2154,SC2016
# Sourced by conda: the files that Miniconda's installer leaves in a home, and the parts that shells read.

make_base() {
  mkdir -p "$base/bin" "$base/condabin" "$base/envs" "$base/conda-meta" "$base/etc/profile.d"
  : >"$base/.stand-in"
  printf '#!/bin/sh\nexec %s/conda "$@"\n' "$here" >"$base/bin/conda"
  chmod +x "$base/bin/conda"
  ln -sf ../bin/conda "$base/condabin/conda"
  python=$(on_path python3) && { ln -sf "$python" "$base/bin/python3"; ln -sf "$python" "$base/bin/python"; }
  hook >"$base/etc/profile.d/conda.sh"
  printf '. "%s/etc/profile.d/conda.sh"\nconda activate "${1:-base}"\n' "$base" >"$base/bin/activate"
}

# The function that lets `conda activate` change the shell that calls it.
hook() {
  printf 'export CONDA_EXE=%s/bin/conda CONDA_SHLVL="${CONDA_SHLVL:-0}"\n' "$base"
  cat <<'END'
conda() {
  case "${1:-}" in
    activate | deactivate)
      __conda_code=$("$CONDA_EXE" shell.posix "$@") || return
      eval "$__conda_code" ;;
    *) "$CONDA_EXE" "$@" ;;
  esac
}
END
  printf 'case ":$PATH:" in *":%s/condabin:"*) ;; *) export PATH="%s/condabin:$PATH" ;; esac\n' "$base" "$base"
}

shell_code() {
  case ${1:-} in
    hook) hook ;;
    activate) prefix=$(prefix_of "${2:-base}") && [ -d "$prefix/conda-meta" ] || { not_an_environment "${2:-base}"; exit 1; }
      printf 'export PATH="%s/bin:%s"\n' "$prefix" "$(path_without "${CONDA_PREFIX:-}/bin")"
      printf 'export CONDA_PREFIX="%s" CONDA_DEFAULT_ENV="%s" CONDA_SHLVL=1\nunset PYTHONHOME\n' "$prefix" "${2:-base}" ;;
    deactivate) printf 'export PATH="%s" CONDA_SHLVL=0\nunset CONDA_PREFIX CONDA_DEFAULT_ENV\n' "$(path_without "${CONDA_PREFIX:-}/bin")" ;;
    *) not_known "shell code for ${1:-nothing}" ;;
  esac
}

path_without() { printf '%s' "$PATH" | tr ':' '\n' | grep -vxF -- "$1" | paste -sd: -; }

init_shell() {
  grep -q 'conda initialize' "$home/.bashrc" 2>/dev/null && { echo 'No action taken.'; return; }
  printf '# >>> conda initialize >>>\n. "%s/etc/profile.d/conda.sh"\nconda activate base\n# <<< conda initialize <<<\n' "$base" >>"$home/.bashrc"
  printf 'modified      %s/.bashrc\n\n==> For changes to take effect, close and re-open your current shell. <==\n' "$home"
}
