/**
 * The source of a piece of reference data.
 *
 * `public`: the fact can be verified at the named source. `demo`: no public source states it, and it is invented for trying
 * the service, such as a limit, a delivery time or a closed route. Demo data is never a promise of a real bank.
 * `ours`: a choice of this project that states no fact, such as the names of products.
 */
export interface Source {
  readonly name: string;
  /**
   * The day of the source's edition, as precisely as the source gives it: `2022`, `2026-09` or
   * `2025-05-22`. For a list without editions, the day its content was written down here.
   */
  readonly date: string;
  readonly kind: 'public' | 'demo' | 'ours';
}
