/**
 * `@temporalio/common` takes its `Duration` from `ms@3.0.0-canary.1`, whose `exports` names no types: without this shim
 * `Duration` is `any` and `sleep('bogus')` compiles. Upstream: temporalio/sdk-typescript#1668. test/architecture holds it.
 */
declare module 'ms' {
  type Unit =
    | 's' | 'Sec' | 'Second' | 'Seconds'
    | 'm' | 'M' | 'Min' | 'Minute' | 'Minutes'
    | 'h' | 'H' | 'Hr' | 'Hour' | 'Hours'
    | 'd' | 'D' | 'Day' | 'Days'
    | 'w' | 'W' | 'Week' | 'Weeks'
    | 'Ms' | 'Milliseconds';
  type UnitAnyCase = Unit | Uppercase<Unit> | Lowercase<Unit>;
  export type StringValue = `${number}` | `${number}${UnitAnyCase}` | `${number} ${UnitAnyCase}`;
}
