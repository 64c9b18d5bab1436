# run-unit.sh FILE FOLDER USER: one start of a user's unit, in a session of its own; writes its exit code to FOLDER/code.
settings() { sed -n "/^\[Service\]/,/^\[[^S]/s/^$1[[:space:]]*=[[:space:]]*//p" "$file"; }
file=$1 folder=$2
cd "$(settings WorkingDirectory | tail -n 1 | sed 's/^$/\//')" 2>/dev/null || cd /
settings EnvironmentFile | while read -r path; do sed '/^[#;]/d; /^$/d' "${path#-}"; done >"$folder/environment"
# Environment= has VAR=value words, in quotes if they contain spaces: for these the shell parses as systemd does.
settings Environment | sed 's/^/export /' >>"$folder/environment"
sed 's/^\([A-Za-z_][A-Za-z0-9_]*=\)/export \1/' "$folder/environment" >"$folder/environment.sh"
. "$folder/environment.sh"
code=0
{ settings ExecStartPre; settings ExecStart; } >"$folder/commands"
while IFS= read -r line; do
  ignored=''
  case $line in -*) ignored=1 line=${line#-} ;; @* | +* | !*) line=${line#?} ;; esac
  eval "$line" || { code=$?; [ -n "$ignored" ] && code=0 || break; }
done <"$folder/commands"
[ "$(cat "$folder/code" 2>/dev/null)" = stopped ] || echo "$code" >"$folder/code"
exit "$code"
