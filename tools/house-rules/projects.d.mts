/** Who may import whom, by the name in the tag `scope:<name>`. */
export const PROJECTS: Readonly<
  Record<
    string,
    {
      readonly type: 'app' | 'lib' | 'tool';
      readonly mayImport: readonly string[];
      readonly specsMayImport?: readonly string[];
    }
  >
>;

export const DEPENDENCY_FREE: readonly string[];

export const FORBIDDEN_FOLDERS: Readonly<Record<string, readonly string[]>>;
