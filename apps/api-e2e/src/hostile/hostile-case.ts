/** An invalid request and the expected response. The default caller is Ada in Northwind Trading. */
export interface HostileCase {
  readonly what: string;
  /** GET where it says nothing. */
  readonly method?: string;
  /** `{transfer}` stands for a transfer of Northwind Trading. */
  readonly path: string;
  /** Replaces a header line of a good request, by its name; `null` leaves it out, a list sends it as often. */
  readonly with?: Readonly<Record<string, string | readonly string[] | null>>;
  readonly body?: string;
  readonly status: number;
  readonly reason?: string;
}

export const TRANSFER = '/transfers/{transfer}';
export const UNAUTHENTICATED = { status: 401, reason: 'not_authenticated' };
