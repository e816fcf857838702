/** The fields without those that are null, in their order. A missing field of a resource is omitted. */
export function withoutNulls<Resource>(fields: { readonly [Name in keyof Resource]: Resource[Name] | null }): Resource {
  const present: Record<string, unknown> = {};
  for (const name in fields) {
    const value = fields[name];
    if (value !== null) present[name] = value;
  }
  return present as Resource;
}
