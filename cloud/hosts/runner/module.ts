/**
 * The verbs of setup modules. All modules of a host come in one call: an index, checks and the scripts and files that are
 * wanted, as ../module-payload.ts writes them. Answers are frames on stdout, between the output of the steps, behind a nonce
 * that came on stdin and that no step is told (../module-frames.ts reads them).
 */
export const MODULE_VERBS = `
frame() { printf '\\001jobctl %s %s\\n' "$nonce" "$*"; }

# What was reached: fingerprint, steps done, the mark of the step under way or '-'.
progress() { printf '%s\\n' "$1 $2 $3" > "$module.progress.new" && mv -f "$module.progress.new" "$module.progress"; }

# Bytes $1 to $1 + $2 of what came behind the index.
piece() { tail -c "+$(($1 + 1))" "$stage/pieces" | head -c "$2"; }

# Nonce, index until 'end BYTES', then that many bytes.
unpack() {
  rm -rf "$stage" && mkdir -m 700 "$stage" || return 1
  while IFS= read -r line; do
    case $line in
      'end '*) take "\${line#end }" "$stage/pieces"; return ;;
      *) printf '%s\\n' "$line" || return 1 ;;
    esac
  done > "$stage/index"
  return 1
}

# In a session of its own and without our descriptors. A file, not stdin: a step that reads stdin would eat the rest.
# In a subshell: where a login shell is told to exit, it runs .bash_logout and may take its code.
run_script() {
  (cd "$HOME" && export JOBCTL_MODULE_STEP="$2" && exec setsid -w bash -lc '( . "$0" )' "$1" < /dev/null 7>&- 9>&-)
}

# Does what was made still stand? One login shell for all that have the fingerprint asked for: 'PLACE CODE' for each.
# Two minutes are enough for any: a mount that hangs is not there.
run_checks() {
  (cd "$HOME" && exec timeout -k 5 120 bash -lc '. "$0"' "$stage/checks" "$@" 3>&1 < /dev/null > /dev/null 2>&1 7>&- 9>&-)
}

# Is the module at place $2, with fingerprint $1, made? From 'passed', unless a module before it was made just now.
is_made() {
  made=
  [ -f "$module.json" ] && read -r made < "$module.json"
  case $made in *"\\"fingerprint\\":\\"$1\\""*) ;; *) return 1 ;; esac
  [ "$redone" = no ] || passed=$(run_checks "$2")
  case "
$passed
" in *"
$2 0
"*) return 0 ;; esac
  return 1
}

check_all() {
  nth=-1 matching=
  while IFS=' ' read -r kind name fingerprint rest; do
    [ "$kind" = module ] || continue
    nth=$((nth + 1)) made=
    [ -f "$base/modules/$name.json" ] && read -r made < "$base/modules/$name.json"
    case $made in *"\\"fingerprint\\":\\"$fingerprint\\""*) matching="$matching $nth" ;; esac
  done < "$stage/index"
  passed=
  [ -z "$matching" ] || passed=$(run_checks $matching)
}

# modules: makes each ready, in order; ends at the first step that fails. Where one is to be made whose steps were not sent
# ('absent'), nothing more is done: what is needed is told, and asked for again with them.
verb_modules() {
  exec 7>&2 2>&1
  errors=7 stage=$base/modules/stage
  read -r nonce || die "modules: nothing arrived"
  # The lock first, so that a second applier has read nothing while it waits.
  exec 9>>"$base/modules/lock"
  flock 9
  unpack || { frame unarrived; return 0; }
  head -c "$(sed -n '1s/^checks //p' "$stage/index")" "$stage/pieces" > "$stage/checks" || { frame unarrived; return 0; }
  check_all
  redone=no absent=no nth=-1
  while IFS=' ' read -r kind first second third rest; do
    case $kind in
      module) open_module "$first" "$second" "$third" ;;
      file) [ $wanted = no ] || [ $step -lt $done_steps ] || piece "$second" "$third" | put_file "$first" "$rest" || { failed 73; break; } ;;
      copied) [ $wanted = no ] || [ $step -lt $done_steps ] || put_file "$first" "$rest" < "$base/files/$second" || { failed 73; break; } ;;
      step) step=$((step + 1)); [ $wanted = no ] || [ $step -le $done_steps ] || run_step "$first" "$second" || break ;;
      done) [ $wanted = no ] || close_module || break ;;
    esac
  done < "$stage/index"
  rm -rf "$stage"
  frame end
}

# NAME FINGERPRINT sent|absent. What came before and is half done is gone on with, if it was the same.
open_module() {
  module=$base/modules/$1 fingerprint=$2 wanted=no step=0 done_steps=0 resumed=-1 nth=$((nth + 1))
  reached=- reached_steps=0 underway=-
  [ -f "$module.progress" ] && read -r reached reached_steps underway < "$module.progress"
  # A step that lost its applier may still run: two of one kind would get into each other's way.
  [ "$underway" = - ] || end_members "JOBCTL_MODULE_STEP=$underway" 2000
  if is_made "$2" "$nth"; then frame unchanged $nth; return; fi
  [ "$reached" = "$2" ] && done_steps=$reached_steps resumed=$reached_steps
  [ "$3" = sent ] || absent=yes
  if [ $absent = yes ]; then frame needed $nth; return; fi
  wanted=yes redone=yes
  rm -f "$module.json"
}

# MODE PATH, content on stdin: whole or not at all, and never readable for others on the way.
put_file() {
  new=$HOME/$2.jobctl-new
  mkdir -p "$(dirname "$new")" && (umask 077 && cat > "$new") && chmod "$1" "$new" && mv -f "$new" "$HOME/$2"
}

failed() {
  frame step $nth $((step + 1))
  frame ended $nth $((step + 1)) "$1"
}

# OFFSET BYTES of its script.
run_step() {
  step_mark=$module:$step.$$.$(now_ms)
  frame step $nth $step
  progress "$fingerprint" $((step - 1)) "$step_mark" && piece "$1" "$2" > "$stage/step" || { frame ended $nth $step 73; return 1; }
  run_script "$stage/step" "$step_mark"
  code=$?
  if [ $code -ne 0 ]; then
    done_steps=$((step - 1))
    # Resumed here and failed again: perhaps what came before is broken, so the next call begins from the start.
    [ "$done_steps" -gt 0 ] && [ "$done_steps" -eq "$resumed" ] && done_steps=0
    progress "$fingerprint" "$done_steps" -
    frame ended $nth $step $code
    return 1
  fi
  progress "$fingerprint" "$step" -
  frame ended $nth $step 0
}

close_module() {
  printf '{"fingerprint":"%s","steps":%s,"at":%s}\\n' "$fingerprint" "$step" "$(now_ms)" > "$module.json.new"
  place "$module.json.new" "$module.json" || { failed 73; return 1; }
  rm -f "$module.progress"
  frame done $nth
}

# Ends the step under way, after which its applier reports it as failed.
verb_modules_stop() {
  for file in "$base"/modules/*.progress; do
    underway=-
    [ -f "$file" ] && read -r reached reached_steps underway < "$file"
    [ "$underway" = - ] || end_members "JOBCTL_MODULE_STEP=$underway" 2000
  done
  say stopped
}

# modules-forget NAME..: makes them anew at the next call, whatever stands.
verb_modules_forget() {
  for name; do rm -f "$base/modules/$name.json" "$base/modules/$name.progress"; done
  say forgotten
}
`;
