/** The folders and the file in a path, from the top of the workspace, that do not say what is in them. */
export function emptyNamesIn(path: string): string[];
