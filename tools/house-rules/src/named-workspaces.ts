import ts from 'typescript';

/** The tables and views with a column `workspace_id`. */
export function tablesOfWorkspaces(migrations: string): string[] {
  const tables = migrations.matchAll(/create table (\w+) \((.*?)\n\)/gs);
  const views = migrations.matchAll(/create view (\w+) ([^;]*)/g);
  return [
    ...[...tables].filter(([, , columns = '']) => /^\s+workspace_id bigint/m.test(columns)),
    ...[...views].filter(([, , query = '']) => /\bworkspace_id\b/.test(query)),
  ].map(([, name = '']) => name);
}

/** The SQL statements in a TypeScript file: names and texts. What is put together at run time is blank. */
export function sqlStatementsIn(file: string, code: string): { readonly name: string; readonly text: string }[] {
  const statements: { name: string; text: string }[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === 'sqlStatement') {
      const [name, text] = node.arguments;
      if (name && text) statements.push({ name: plainText(name), text: plainText(text) });
    }
    node.forEachChild(visit);
  };
  visit(ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true));
  return statements;
}

function plainText(node: ts.Expression): string {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return '';
  return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join(' ');
}

const USE =
  /\b(?:from|join|update|using)\s+(\w+)(?:\s+(?:as\s+)?(?!(?:where|set|on|order|join|limit|left|cross|for)\b)(\w+))?/g;

/**
 * The tables of workspaces whose rows a statement reads or changes without a condition on the workspace, by the name that stands for each:
 * it must be compared once for each use.
 */
export function unnamedWorkspaces(text: string, tables: readonly string[]): string[] {
  const uses = [...text.replaceAll(/'[^']*'/g, '').matchAll(USE)].filter(([, table = '']) => tables.includes(table));
  const names = new Map<string, { table: string; count: number }>();
  for (const [, table = '', alias = table] of uses) {
    names.set(alias, { table, count: (names.get(alias)?.count ?? 0) + 1 });
  }
  return [...names].flatMap(([alias, { table, count }]) => {
    const prefix = alias === table ? `(?:(?<![\\w.])|\\b${alias}\\.)` : `\\b${alias}\\.`;
    const named = [...text.matchAll(new RegExp(`${prefix}workspace_id\\b`, 'g'))].length;
    return named < count ? [table] : [];
  });
}
