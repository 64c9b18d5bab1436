/**
 * The login shell of a module's steps. One shell in a separate session serves all of them; each step runs in a subshell with a
 * separate process group. Login files take longer than most steps, so they are read again only if a step may have changed their
 * result.
 *
 * It reads a step's mark on descriptor 3 and answers on 4 with `CODE SECONDS same|changed`; steps have neither. Frames, records
 * and the nonce stay with the applier, so that login files and steps cannot reach them.
 */
export const STEP_SHELL = `
STEP_SHELL='
JOBCTL_FLAGS=\${-//[!eux]/} JOBCTL_LOGIN=()
set +eux -m
exec 8>&2 2> /dev/null
for JOBCTL_FILE in ~ ~/.local ~/.bash_profile ~/.bash_login ~/.profile ~/.bashrc /etc/profile /etc/bash.bashrc /etc/profile.d{,/*}; do
  [ ! -e "$JOBCTL_FILE" ] || JOBCTL_LOGIN+=("$JOBCTL_FILE")
done
builtin printf "ready %s\\n" $$ >&4
while IFS=" " builtin read -r JOBCTL_MODULE_STEP <&3; do
  (
    exec 2>&8 3<&- 4>&- 8>&-
    export JOBCTL_MODULE_STEP
    set +m \${JOBCTL_FLAGS:+-$JOBCTL_FLAGS}
    unset JOBCTL_FLAGS JOBCTL_LOGIN JOBCTL_FILE JOBCTL_END
    . "$0"
  )
  JOBCTL_END="$? %(%s)T same"
  for JOBCTL_FILE in "\${JOBCTL_LOGIN[@]}"; do
    [ "\${0%.*}.began" -nt "$JOBCTL_FILE" ] || JOBCTL_END=\${JOBCTL_END% *}" changed"
  done
  builtin printf "$JOBCTL_END\\n" -1 >&4
done
'

# Over two pipes with names. Not in the background, where sh would have it ignore SIGINT and SIGQUIT for ever.
# Each shell has pipes of its own: one that is late to end must not hear what the next is told.
open_shell() {
  shell=-
  mkfifo "$stage.go.$nth.$step" "$stage.said.$nth.$step" || return 1
  # Opened for both ways first: nobody waits then for the other end. After that, an end is an end.
  exec 5<>"$stage.go.$nth.$step" 6<>"$stage.said.$nth.$step"
  JOBCTL_MODULE_STEP=$call setsid -f bash --norc -c "$LOGIN_FILES$STEP_SHELL" "$stage.step" \\
    < /dev/null 3<"$stage.go.$nth.$step" 4>"$stage.said.$nth.$step" 5>&- 6<&- 7>&- 9>&-
  exec 5>"$stage.go.$nth.$step" 6<"$stage.said.$nth.$step"
  read -r word shell <&6
}

close_shell() {
  [ "$shell" = - ] || exec 5>&- 6<&-
  shell=-
}

# SCRIPT: its file, not stdin, since a step that reads stdin would eat the rest.
run_step() {
  step=$((step + 1))
  [ $step -gt $done_steps ] || return 0
  begin_step $step
  printf '%s' "$1" > "$stage.step" || { frame ended $nth $step 73; return 1; }
  if [ $shell = - ] && ! open_shell; then
    shell=-
    echo "jobctl: the login shell ended before the step: see the login files of $HOME (.bash_profile, .bash_login, .profile)"
    frame ended $nth $step 78
    return 1
  fi
  progress "$fingerprint" $((step - 1)) "$call:$shell:$step" || { frame ended $nth $step 73; return 1; }
  echo "$call:$shell:$step" >&5
  if ! read -r code now login <&6; then
    # Somebody has killed the shell, whose step may still run.
    end_step "$call:$shell:$step"
    code=137 login=changed
  fi
  [ $login = same ] || close_shell
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

# A step's mark is CALL:SHELL:STEP. Its subshell was forked and not started, so what it carries is the mark of its shell: CALL.
end_step() {
  [ "$1" != - ] || return 0
  shell_of=\${1#*:}
  end_members "JOBCTL_MODULE_STEP=$1" 2000 "JOBCTL_MODULE_STEP=\${1%%:*}" "\${shell_of%%:*}"
}
`;

/**
 * The verbs of set-up modules. All modules of a host come in one call, as a program for sh that ../module-program.ts writes with
 * the words below. Answers are frames on stdout between the output of the steps. Each begins with a nonce that came with the
 * program and that no step knows (../modules-call.ts reads them). Processes are what costs (docs/adr/0026), so the shell does
 * everything that it can.
 */
export const MODULE_VERBS = `
# What comes with the next step's beginning, or the end, waits for it: every write becomes a packet of its own.
frame() {
  held="$held\\\\001jobctl $nonce $*\\\\n"
  case $1 in step | end) tell ;; esac
}
tell() { printf '%b' "$held"; held=; }

# What was reached: fingerprint, steps done, the mark of the step under way or '-'. Over itself and never shorter, so that it
# costs no process, never needs room that is not there, and whoever looks on sees a whole line.
progress() { printf '%-250s\\n' "$1 $2 $3" 1<> "$module.progress"; }

# NONCE: makes ready what the program's function 'plan' says.
verb_modules() {
  stage=$base/modules/.stage nonce=$1 held=
  exec 9>>"$base/modules/lock"
  flock 9
  # Of a call that was cut.
  [ ! -e "$stage.began" ] || rm -f "$stage".*
  cd "$HOME" || cd /
  read -r call < /proc/sys/kernel/random/uuid
  : > "$stage.began"
  exec 7>&2 2>&1
  errors=7
  nth=-1 matching= passed= redone=no absent=no shell=-
  plan
  close_shell
  rm -f "$stage".*
  frame end
}

# Words of a plan. First, of all modules in order: PLACE NAME FINGERPRINT. Was it made?
look() {
  made=
  [ ! -f "$base/modules/$2.json" ] || read -r made < "$base/modules/$2.json"
  case $made in *"\\"fingerprint\\":\\"$3\\""*) matching="$matching $1" ;; esac
}

# SCRIPT: the checks of all modules, by their places. One login shell for all that were made.
check() {
  [ -n "$matching" ] || return 0
  printf '%s' "$1" > "$stage.checks" && passed=$(run_checks $matching)
}

# Does what was made still stand? 'PLACE CODE' for each. Two minutes are enough for any: a mount that hangs is not there.
run_checks() {
  exec timeout -k 5 120 bash --norc -c "$LOGIN_FILES"'. "$0"' "$stage.checks" "$@" 3>&1 < /dev/null > /dev/null 2>&1 7>&- 9>&-
}

# NAME FINGERPRINT sent|absent: is it to be made now? What came before and is half done is gone on with, if it was the same.
# Where one is to be made whose steps were not sent, nothing more is done: what is needed is told, and asked for again with them.
open_module() {
  module=$base/modules/$1 fingerprint=$2 step=0 begun_step=0 done_steps=0 resumed=-1 nth=$((nth + 1))
  reached=- reached_steps=0 underway=-
  [ ! -f "$module.progress" ] || read -r reached reached_steps underway < "$module.progress"
  # A step that lost its applier may still run: two of one kind would get into each other's way.
  end_step "\${underway:--}"
  case " $matching " in
    *" $nth "*) if still_stands; then frame unchanged $nth; return 1; fi ;;
    *) [ "$reached" != "$2" ] || done_steps=$reached_steps resumed=$reached_steps ;;
  esac
  [ "$3" = sent ] || absent=yes
  if [ $absent = yes ]; then frame needed $nth; return 1; fi
  redone=yes now=
  [ ! -f "$module.json" ] || : > "$module.json"
}

# What was checked before a module ahead of it was made is checked again.
still_stands() {
  [ $redone = no ] || { tell; passed=$(run_checks $nth); }
  case "
$passed
" in *"
$nth 0
"*) return 0 ;; esac
  return 1
}

# MODE PATH CONTENT, which is base64.
put() {
  [ $step -ge $done_steps ] || return 0
  begin_step $((step + 1))
  printf '%s' "$3" | base64 -d | put_file "$1" "$2" || cannot_put
}

# MODE SHA256 PATH: what was copied before.
put_copied() {
  [ $step -ge $done_steps ] || return 0
  begin_step $((step + 1))
  put_file "$1" "$3" < "$base/files/$2" || cannot_put
}

# MODE PATH, content on stdin: whole or not at all, and never readable for others on the way.
put_file() {
  new=$HOME/$2.jobctl-new
  { [ -d "\${new%/*}" ] || mkdir -p "\${new%/*}"; } && (umask 077 && cat > "$new") && chmod "$1" "$new" && mv -f "$new" "$HOME/$2"
}

# Not in put_file, which may run in a shell of its own: what that one notes is lost.
cannot_put() {
  frame ended $nth $((step + 1)) 73
  return 1
}

# NUMBER: before its files, so that what is said of them is said of it.
begin_step() { [ "$begun_step" = "$1" ] || { begun_step=$1 && frame step $nth "$1"; }; }

# Not synced: what the steps made is not either, and a record that outlives it on the disk is worse than none.
close_module() {
  close_shell
  if ! printf '{"fingerprint":"%s","steps":%s,"at":%s000}\\n' "$fingerprint" "$step" "\${now:-$(date +%s)}" > "$module.json"; then
    frame step $nth $((step + 1))
    frame ended $nth $((step + 1)) 73
    return 1
  fi
  progress - 0 -
  frame done $nth
}

# Ends the step under way, after which its applier reports it as failed.
verb_modules_stop() {
  for file in "$base"/modules/*.progress; do
    underway=-
    [ ! -f "$file" ] || read -r reached reached_steps underway < "$file"
    end_step "\${underway:--}"
  done
  say stopped
}

# modules-forget NAME..: makes them anew at the next call, whatever stands.
verb_modules_forget() {
  for name; do rm -f "$base/modules/$name.json" "$base/modules/$name.progress"; done
  say forgotten
}
`;
