/** An invalid request and the expected response. The default caller is Ada in Northwind Trading. */
export interface HostileCase {
  readonly what: string;
  /** GET by default. */
  readonly method?: string;
  /**
   * `{transfer}` stands for a transfer of Northwind Trading, and `{cursor}` for a cursor of its events. `{transfers}` is a cursor of its
   * transfers, and `{foreign}` one of the events of another workspace.
   */
  readonly path: string;
  /** Replaces header lines of a valid request by name. `null` omits the line, and a list sends one line for each element. */
  readonly with?: Readonly<Record<string, string | readonly string[] | null>>;
  readonly body?: string;
  readonly status: number;
  readonly reason?: string;
}

export const TRANSFER = '/transfers/{transfer}';
export const UNAUTHENTICATED = { status: 401, reason: 'not_authenticated' };
