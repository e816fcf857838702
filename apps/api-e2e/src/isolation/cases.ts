import { randomUUID } from 'node:crypto';
import { type Document, type Route, routesOf } from '../documented/document.js';
import { nameOf, type Position, positionsOf, type Variant, variantsOf } from '../documented/inputs.js';
import type { Callers, Holdings } from './callers.js';
import { IDENTIFIERS, type Kind, KINDS } from './classification.js';

export type CallerName = Exclude<keyof Callers, 'owner'>;

/** A request with identifiers of another workspace at some of its positions. */
export interface Case {
  readonly route: Route;
  readonly variant: Variant;
  readonly caller: CallerName;
  readonly positions: readonly Position[];
}

export const kindOf = (position: Position): Kind | undefined => IDENTIFIERS[nameOf(position)];

export const describeCase = ({ route, variant, caller, positions }: Case): string =>
  [route.operation.operationId, variant.name, caller, positions.map(nameOf).join(' + ') || 'no identifier'].join(', ');

/** What a caller may see of the other workspace: these cases are left out. */
function isPermitted({ route, caller, positions }: Case): boolean {
  const kinds = positions.map(kindOf);
  // The callers are users of the same app.
  if (kinds.includes('app') && caller !== 'stranger') return true;
  // The sharer has a role in the other workspace.
  if (kinds.includes('workspace') && caller === 'sharer') return true;
  // The sharer administers every workspace of the app, so sees all its users.
  return route.operation.operationId === 'listAppUsers' && caller === 'sharer';
}

const isForWorkspace = (route: Route) => route.operation.parameters.some(({ name }) => name === 'Workspace-ID');

/** The colleague calls the operations that need no workspace: in it, a member may do less than an administrator. */
const callersOf = (route: Route): readonly CallerName[] =>
  isForWorkspace(route) ? ['stranger', 'neighbour', 'sharer'] : ['stranger', 'neighbour', 'colleague', 'sharer'];

/** The sets of positions that get an identifier of the other workspace: each alone, and all resources and keys together. */
function replaced(positions: readonly Position[]): readonly (readonly Position[])[] {
  const together = positions.filter((position) => !['workspace', 'cursor', 'app'].includes(kindOf(position) ?? ''));
  return [...positions.map((position) => [position]), ...(together.length > 1 ? [together] : [])];
}

/** In this order: reads, changes, deletions, so that no case uses up what a later one needs. */
const METHODS = ['GET', 'PUT', 'PATCH', 'POST', 'DELETE'];

/** What the suite sends to an operation. */
export interface Plan {
  readonly route: Route;
  readonly operationId: string;
  readonly cases: readonly Case[];
  /** Requests with identifiers of the caller alone. */
  readonly controls: readonly Case[];
}

export function plansOf(document: Document): Plan[] {
  const routes = routesOf(document).sort((one, other) => METHODS.indexOf(one.method) - METHODS.indexOf(other.method));
  return routes.map((route) => ({
    route,
    operationId: route.operation.operationId,
    cases: casesOf(document, route),
    controls: controlsOf(document, route),
  }));
}

/** The number of cases, for the name of a test. */
export const countOf = (plans: readonly Plan[]): number => plans.reduce((sum, { cases }) => sum + cases.length, 0);

/** Every case of an operation of the document. */
function casesOf(document: Document, route: Route): Case[] {
  const positions = positionsOf(document, route).filter((position) => kindOf(position) !== undefined);
  const all = replaced(positions).flatMap((some) =>
    variantsOf(route).flatMap((variant) =>
      callersOf(route).map((caller) => ({ route, variant, caller, positions: some })),
    ),
  );
  return all.filter((one) => !isPermitted(one) && !isCursorOfFile(one));
}

/** A statement as a file is whole, so it takes no cursor. */
const isCursorOfFile = ({ route, variant, positions }: Case): boolean =>
  route.operation.operationId === 'getStatement' &&
  ['text/csv', 'application/xml'].includes(variant.accept ?? '') &&
  positions.some(({ name }) => name === 'cursor');

/** The requests without identifiers of another workspace: the usual one of each variant, and one for each optional identifier. */
function controlsOf(document: Document, route: Route): Case[] {
  const optional = positionsOf(document, route).filter((position) => {
    const kind = kindOf(position);
    return kind !== undefined && (position.in === 'query' || KINDS[kind] === 'independent' || kind === 'quote');
  });
  const all = [[], ...optional.map((position) => [position])].flatMap((positions) =>
    variantsOf(route).flatMap((variant) => callersOf(route).map((caller) => ({ route, variant, caller, positions }))),
  );
  return all.filter((one) => !isPermitted(one) && !isCursorOfFile(one));
}

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
