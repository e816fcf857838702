import type { AppId } from '../ids.js';
import type { Timestamp } from '../timestamp.js';

/** An application of the service; users belong to one or several. */
export interface App {
  readonly id: AppId;
  readonly name: string;
  readonly createdAt?: Timestamp;
}
