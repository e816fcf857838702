import { type LookupAddress, promises } from 'node:dns';

/** Resolves a name to all its addresses. */
export type ResolveName = (hostname: string) => Promise<readonly LookupAddress[]>;

export interface NameResolverOptions {
  /** Name servers, such as `127.0.0.1:53`. Default: those of the system. */
  readonly servers?: readonly string[] | undefined;
  /** For a name, whatever its servers do. Default 1,500, which is less than a connection may take. */
  readonly resolveMs?: number | undefined;
}

/** Of one question; each further try takes longer. */
const TRY_MS = 500;
const TRIES = 3;

/**
 * Asks name servers without the threads of libuv: its look-up of the system has a few threads for the whole process, and those that wait for a
 * silent name server keep deliveries of other tenants and connections to the database waiting. Requests for one name share their questions.
 */
export function nameResolver({ servers, resolveMs = 1_500 }: NameResolverOptions = {}): ResolveName {
  const pending = new Map<string, Promise<readonly LookupAddress[]>>();
  return (hostname) => {
    const asked = pending.get(hostname);
    if (asked) return asked;
    const answer = ask(hostname, { servers, resolveMs }).finally(() => pending.delete(hostname));
    pending.set(hostname, answer);
    return answer;
  };
}

async function ask(hostname: string, { servers, resolveMs }: NameResolverOptions): Promise<readonly LookupAddress[]> {
  // One resolver for a name, because a cancellation ends all questions of a resolver.
  const resolver = new promises.Resolver({ timeout: TRY_MS, tries: TRIES });
  if (servers) resolver.setServers(servers);
  const timer = setTimeout(() => resolver.cancel(), resolveMs);
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  clearTimeout(timer);
  if (four.status === 'rejected' && six.status === 'rejected') throw four.reason;
  const addressesOf = (answer: PromiseSettledResult<string[]>, family: number) =>
    answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];
  return [...addressesOf(four, 4), ...addressesOf(six, 6)];
}
