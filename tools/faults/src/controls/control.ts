/** A replacement of text in one file, from the top of the workspace. The text must occur in the file exactly once. */
export interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A test that must fail while the fault is planted. `test` is part of its full name: the names of its describe blocks and its own. */
export interface SpecCatcher {
  readonly spec: string;
  readonly test: string;
  /** A part of the message of the failure. Needed where the fault fails every test of the spec. */
  readonly message?: string;
}

/** A run of `npm run faults` that must report a violation while the fault is planted. */
export interface RunCatcher {
  readonly run: { readonly promise: string; readonly seed: number; readonly minutes: number };
}

export type Catcher = SpecCatcher | RunCatcher;

/** A fault that is planted in a copy of the sources, and what must catch it. */
export interface Control {
  readonly name: string;
  /** The promise that the fault breaks, by its id; or the area, for a rule without an id. */
  readonly promise: string;
  /** What is planted, in one sentence. */
  readonly plants: string;
  readonly changes: readonly Change[];
  /** All of them must catch the fault. */
  readonly caughtBy: readonly Catcher[];
  /** The projects to compile, where a catcher starts compiled programs. Default: none. */
  readonly compiles?: readonly string[];
}

export const isRun = (catcher: Catcher): catcher is RunCatcher => 'run' in catcher;

/** The arguments of `npm run faults --`. */
export const argumentsOf = ({ run: { promise, seed, minutes } }: RunCatcher): readonly string[] => [
  ...[promise, '--seed', String(seed), '--minutes', String(minutes)],
];

/** The spec file, or the arguments of the run. */
export const nameOf = (catcher: Catcher): string => (isRun(catcher) ? argumentsOf(catcher).join(' ') : catcher.spec);

/** The distinct spec files of controls. */
export function specsOf(controls: readonly Control[]): string[] {
  const specs = controls.flatMap(({ caughtBy }) => caughtBy.flatMap((each) => (isRun(each) ? [] : [each.spec])));
  return [...new Set(specs)];
}
