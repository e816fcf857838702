import type { AppId } from '../ids.js';
import type { Timestamp } from '../timestamp.js';

/** An application of the service. A user belongs to one or several. */
export interface App {
  readonly id: AppId;
  readonly name: string;
  readonly createdAt?: Timestamp;
}
