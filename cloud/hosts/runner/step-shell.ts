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
