/**
 * Where a piece of reference data comes from.
 *
 * `public` says that anybody can look the fact up at the named source. `demo` says that no public
 * source states it and that we made it up, so that the service can be tried: a limit, a delivery
 * time, a route that is open or closed. Demo data is never a promise of a real bank.
 */
export interface Source {
  readonly name: string;
  /**
   * The day of the source's edition, as precisely as the source gives it: `2022`, `2026-09` or
   * `2025-05-22`. For a list without editions, the day its content was written down here.
   */
  readonly date: string;
  readonly kind: 'public' | 'demo';
}
