/** Checks a response at every depth: nothing is null, ids are safe integers and named `…ID`, instants are RFC 3339 in UTC. */
export function expectWellFormed(resource: unknown, path = '$'): void {
  if (resource === null || resource === undefined) throw new Error(`${path} is ${String(resource)}`);
  if (Array.isArray(resource)) {
    resource.forEach((item, index) => expectWellFormed(item, `${path}[${index}]`));
    return;
  }
  if (typeof resource !== 'object') return;
  for (const [name, value] of Object.entries(resource)) {
    const here = `${path}.${name}`;
    if (/[a-z_]ids?$|Ids?$/.test(name)) throw new Error(`${here} is not spelled as the interface names ids`);
    if (/^id$|ID$/.test(name) && !(Number.isSafeInteger(value) && (value as number) > 0))
      throw new Error(`${here} is no id`);
    if (/At$/.test(name) && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(String(value))) {
      throw new Error(`${here} is no instant: ${String(value)}`);
    }
    if (/amount$/i.test(name) && path.match(/balance/) === null && !/^(0|[1-9][0-9]*)$/.test(value as string)) {
      throw new Error(`${here} is no amount: ${String(value)}`);
    }
    expectWellFormed(value, here);
  }
}
