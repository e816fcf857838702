import { newDataDir, RunningService } from '../running-service.js';
import { localToken } from '../service.js';
import type { Document } from './document.js';

/** A service of its own with a fresh demo world, in which the documented examples are true. */
export interface FreshService {
  readonly url: string;
  readonly dataDir: string;
  readonly document: Document;
  /** All it has written so far; everything once it has stopped. */
  readonly log: string;
  tokenOf(email: string): Promise<string>;
  signal(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/**
 * @param openDataDir makes a demo world as new by default: in a copy, ids go on with a gap, as after every start of a database.
 */
export async function freshService(
  environment: Readonly<Record<string, string>> = {},
  openDataDir = newDataDir,
): Promise<FreshService> {
  const folder = await openDataDir();
  try {
    const service = await RunningService.start({ dataDir: folder.path, environment });
    return {
      url: service.url,
      dataDir: folder.path,
      document: (await (await fetch(`${service.url}/openapi.json`)).json()) as Document,
      get log() {
        return service.log;
      },
      tokenOf: (email) => localToken(folder.path, email),
      signal: (signal) => service.signal(signal),
      stop: () => service.stop().finally(folder.remove),
    };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}
