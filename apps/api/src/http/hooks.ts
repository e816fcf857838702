/** The hooks of a route, to which others are added. */
export const listOf = <T>(hooks: T | T[] | undefined): T[] =>
  Array.isArray(hooks) ? hooks : hooks === undefined ? [] : [hooks];
