import { ADA, BOB, CY, EVE, type Service } from '../service.js';

/** Not a user of the service: the key is trusted, the e-mail unknown. */
export const STRANGER = 'mallory@elsewhere.example';

export const PEOPLE = { ada: ADA, bob: BOB, cy: CY, eve: EVE, stranger: STRANGER, 'no token': undefined } as const;

export type Person = keyof typeof PEOPLE;
/** The status for each person, in the order of PEOPLE: admin, member, without a role, of another app, unknown, no token. */
type Row = readonly [number, number, number, number, number, number];

export interface Case {
  readonly operation: string;
  readonly path: (service: Service) => string;
  readonly workspace?: string;
  readonly method?: string;
  /** Sent as JSON, by POST without a `method`. */
  readonly body?: object;
  readonly expected: Row;
}
