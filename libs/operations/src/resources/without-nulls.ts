/** The fields without those that are null, in their order. A missing field of a resource is omitted. */
export function withoutNulls<Resource>(fields: { readonly [Name in keyof Resource]: Resource[Name] | null }): Resource {
  if (!hasNull(fields)) return fields as Resource;
  const present: Record<string, unknown> = {};
  for (const name in fields) {
    const value = fields[name];
    if (value !== null) present[name] = value;
  }
  return present as Resource;
}

/** Most resources have all fields, and are not copied. */
function hasNull(fields: Readonly<Record<string, unknown>>): boolean {
  for (const name in fields) if (fields[name] === null) return true;
  return false;
}
