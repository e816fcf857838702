import { HOME_CELL, hostsOf } from '@banking/process';

/** A database as the configuration names it, for messages. */
export interface ConfiguredDatabase {
  /** Undefined for an embedded one. */
  readonly url: string | undefined;
  /** The name of the cell, if the deployment has several databases. */
  readonly cell?: string | undefined;
}

/** The setting with the login that serves, or with the one that migrates. */
export function settingOf({ cell }: Pick<ConfiguredDatabase, 'cell'>, isOwner = false): string {
  if (cell === undefined || cell === HOME_CELL) return isOwner ? 'DATABASE_OWNER_URL' : 'DATABASE_URL';
  return `${isOwner ? 'ownerUrl' : 'url'} of the cell "${cell}" in CELLS_FILE`;
}

/** The hosts of the database, never the login or its password. */
export function placeOf({ url, cell }: ConfiguredDatabase): string {
  if (url !== undefined) return `at ${hostsOf(url)}`;
  return `in ${folderOf({ cell })}`;
}

/** The folder of an embedded database. */
export function folderOf({ cell }: Pick<ConfiguredDatabase, 'cell'>): string {
  return cell === undefined || cell === HOME_CELL ? 'DATA_DIR' : `DATA_DIR/cells/${cell}`;
}
