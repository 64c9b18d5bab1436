/**
 * A function for scripts that put a user's files in place: `another_second MARK UNDER_WAY` waits, a second at most, until files get
 * times of another second than those of the time before, which ended with MARK's; where UNDER_WAY is there that one was cut off.
 * Python takes a module of the same size and second for the one that it has compiled (docs/adr/0028).
 */
export const ANOTHER_SECOND = `another_second() {
  touch -- "$1.now" || return 1
  # By what files get, which may be some ms behind the clock.
  if [ -e "$2" ] || [ "$(stat -c %Y -- "$1" 2> /dev/null)" = "$(stat -c %Y -- "$1.now")" ]; then sleep 1; fi
  rm -f -- "$1.now"
}
`;
