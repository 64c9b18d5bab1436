/** The verb that a shell calls with the words before the cursor. `--help` hides it because it is not for people. */
export const COMPLETE_VERB = '__complete';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** The completion script of each shell. Without a candidate, shells complete file names; in zsh the script has to ask for it. */
export const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `_jobctl() {
  local IFS=$'\\n'
  COMPREPLY=($(jobctl ${COMPLETE_VERB} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _jobctl jobctl
`,
  zsh: `#compdef jobctl
_jobctl() {
  local -a found
  found=("\${(@f)$(jobctl ${COMPLETE_VERB} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[*]}" ]]; then compadd -a found; else _files; fi
}
compdef _jobctl jobctl
`,
  fish: `function __jobctl_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (jobctl ${COMPLETE_VERB} $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c jobctl -f -a '(__jobctl_complete)'
`,
};
