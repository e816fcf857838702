/**
 * Nest and class-transformer silently drop the names of members of every object, such as `toString`. No field of ours has such a name.
 */
const isDropped = (name: string): boolean => name in Object.prototype || name === 'prototype';

/** Their names, at any depth. */
export function droppedNames(value: object, above: readonly string[] = []): string[][] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    if (isDropped(name)) return [[...above, name]];
    return typeof inner === 'object' && inner !== null ? droppedNames(inner, [...above, name]) : [];
  });
}
