import type { Tree } from '@nx/devkit';

/**
 * Adds the files of a resource and its entries in the files that list resources.
 *
 * @throws Error when the name cannot be used, or when a file has no place for its entry
 */
export function addResource(tree: Tree, options: { readonly name: string; readonly plural?: string }): void;
