import { randomUUID } from 'node:crypto';
import type { Route } from '../documented/document.js';
import type { Kind } from './classification.js';
import type { Holdings } from './holdings.js';
import type { Variant } from './requests.js';

/** One way to call an operation. */
export interface Way {
  readonly route: Route;
  readonly variant: Variant;
}

/** Gives an identifier of a kind for a call. */
export type IdentifierSource = (kind: Kind, way: Way) => string | number;

/** The cursors of a workspace, by the name of the call. */
export type Cursors = ReadonlyMap<string, string>;

export const wayName = ({ route, variant }: Way): string => `${route.operation.operationId} ${variant.name}`;

const ID_NOWHERE = 8_999_999_999_999_999;

function cursorOf(cursors: Cursors, way: Way): string {
  const cursor = cursors.get(wayName(way));
  if (cursor === undefined) throw new Error(`${wayName(way)} has no second page`);
  return cursor;
}

/** The identifiers of the caller's workspace. Keys and references are new ones. */
export const ownIdentifiers =
  ({ ids }: Holdings, cursors: Cursors): IdentifierSource =>
  (kind, way) => {
    if (kind === 'key' || kind === 'reference') return randomUUID();
    return kind === 'cursor' ? cursorOf(cursors, way) : ids[kind];
  };

/** The identifiers of another workspace. Keys and references are `chosen`, once for a request that is sent twice. */
export const chosenIdentifiers = ({ ids }: Holdings, cursors: Cursors): IdentifierSource => {
  const chosen = randomUUID();
  return (kind, way) => {
    if (kind === 'key' || kind === 'reference') return chosen;
    return kind === 'cursor' ? cursorOf(cursors, way) : ids[kind];
  };
};

/** Identifiers of the same form that exist nowhere. */
export const unknownIdentifiers =
  (cursors: Cursors): IdentifierSource =>
  (kind, way) => {
    if (kind === 'key' || kind === 'reference' || kind === 'storedReference') return randomUUID();
    if (kind === 'accountCode') throw new Error('an account code of another workspace is public');
    if (kind !== 'cursor') return ID_NOWHERE;
    const cursor = cursorOf(cursors, way);
    return (cursor.startsWith('A') ? 'B' : 'A') + cursor.slice(1);
  };
