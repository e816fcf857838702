import { newDataDir, RunningService } from '../running-service.js';
import { localToken } from '../service.js';
import type { Document } from './document.js';
import { fetchDocument } from './read-document.js';

/** A separate service with new demo data, which match the documented examples. */
export interface FreshService {
  readonly url: string;
  readonly dataDir: string;
  readonly document: Document;
  readonly pid: number | undefined;
  /** Its output so far, complete once it has stopped. */
  readonly log: string;
  tokenOf(email: string): Promise<string>;
  signal(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/**
 * @param openDataDir creates new demo data by default, because in a copy ids continue with a gap, as after each start of a database.
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
      document: await fetchDocument(service),
      pid: service.pid,
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
