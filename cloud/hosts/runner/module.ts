/**
 * The verbs of a setup module. All scripts and files come on stdin in one go (`../module-payload.ts` writes them).
 * Control lines go to stderr, which no step can write to: a step's own stderr joins its stdout.
 */
export const MODULE_VERBS = `
control() { printf 'jobctl-runner: %s\\n' "$*" >&7; }

open_module() {
  case $1 in '' | .* | *[!A-Za-z0-9._-]*) die "module '$1': use letters, digits, '.', '_' and '-'" ;; esac
  module=$base/modules/$1
}

# What was reached: fingerprint, steps done, the mark of the step under way or '-'.
progress() { printf '%s\\n' "$1 $2 $3" > "$module.progress.new" && mv -f "$module.progress.new" "$module.progress"; }

# Reads 'check N', 'step N NAME' with its 'file MODE N PATH' lines, each followed by N bytes, until 'end'.
unpack() {
  rm -rf "$module.stage" && mkdir "$module.stage" || die "cannot make $module.stage"
  steps=0
  while IFS=' ' read -r kind first rest; do
    case $kind in
      check) take "$first" "$module.stage/check" || return 1 ;;
      step) steps=$((steps + 1)) files=0; take "$first" "$module.stage/step$steps" || return 1 ;;
      file)
        files=$((files + 1))
        take "\${rest%% *}" "$module.stage/step$steps.file$files" || return 1
        printf '%s\\n' "$module.stage/step$steps.file$files" "$first" "\${rest#* }" >> "$module.stage/step$steps.files"
        ;;
      end) return 0 ;;
      *) return 1 ;;
    esac
  done
  return 1
}

put_files() {
  [ -f "$1" ] || return 0
  while read -r source && read -r mode && read -r path; do
    mkdir -p "$(dirname "$HOME/$path")" && cp "$source" "$HOME/$path.jobctl-new" && chmod "$mode" "$HOME/$path.jobctl-new" &&
      mv -f "$HOME/$path.jobctl-new" "$HOME/$path" || return 1
  done < "$1"
}

# In a session of its own and without our descriptors. A file, not stdin: a step that reads stdin would eat the rest.
run_script() {
  (cd "$HOME" && export JOBCTL_MODULE_STEP="$2" && exec setsid -w bash -l "$1" < /dev/null 2>&1 7>&- 9>&-)
}

# module NAME FINGERPRINT. The lock first, so that a second applier has read nothing while it waits.
verb_module() {
  exec 7>&2 2>&1
  errors=7
  open_module "$1"
  exec 9>>"$module.lock"
  flock 9
  unpack || die "module $1: its scripts did not arrive whole, or the disk is full; nothing was run"
  done_steps=0 resumed=-1 reached=- reached_steps=0 underway=-
  [ -f "$module.progress" ] && read -r reached reached_steps underway < "$module.progress"
  # A step that lost its applier may still run: two of one kind would get into each other's way.
  [ "$underway" != - ] && end_members "JOBCTL_MODULE_STEP=$underway" 2000
  if grep -qsF "\\"fingerprint\\":\\"$2\\"" "$module.json"; then
    run_script "$module.stage/check" - && { rm -rf "$module.stage"; control unchanged; return; }
  elif [ "$reached" = "$2" ]; then done_steps=$reached_steps resumed=$reached_steps
  fi
  rm -f "$module.json"
  run_steps "$2" || return 0
  printf '{"fingerprint":"%s","steps":%s,"at":%s}\\n' "$2" "$steps" "$(now_ms)" > "$module.json.new"
  place "$module.json.new" "$module.json" || die "module $1: cannot write $module.json"
  rm -rf "$module.progress" "$module.stage"
  control done
}

run_steps() {
  while [ "$done_steps" -lt "$steps" ]; do
    step=$((done_steps + 1))
    step_mark=$module:$step.$$.$(now_ms)
    progress "$1" "$done_steps" "$step_mark"
    control "step $step"
    put_files "$module.stage/step$step.files" || { control "failed $step 73"; return 1; }
    run_script "$module.stage/step$step" "$step_mark"
    code=$?
    if [ $code -ne 0 ]; then
      # Resumed here and failed again: perhaps what came before is broken, so the next call begins from the start.
      [ "$done_steps" -gt 0 ] && [ "$done_steps" -eq "$resumed" ] && done_steps=0
      progress "$1" "$done_steps" -
      rm -rf "$module.stage"
      control "failed $step $code"
      return 1
    fi
    done_steps=$step
    progress "$1" "$done_steps" -
  done
}

# Ends the step under way, after which its applier reports it as failed.
verb_module_stop() {
  open_module "$1"
  [ -f "$module.progress" ] && read -r reached reached_steps underway < "$module.progress" && [ "$underway" != - ] &&
    end_members "JOBCTL_MODULE_STEP=$underway" 2000
  say stopped
}
`;
