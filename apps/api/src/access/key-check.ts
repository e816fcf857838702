import { hash, timingSafeEqual } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import {
  type DirectoryKey,
  type DirectoryUser,
  idOfKey,
  KEY_ISSUER,
  type ServiceAccountKeyId,
  type Subject,
} from '@banking/domain';
import { parseNetwork } from '@banking/process';
import { RateLimit } from './rate-limit.js';
import type { RoleLookup } from './role-lookup.js';
import { CredentialError } from './token-verifier.js';

/** How many keys one address may guess, so that invented ids cause no load at the database. A key that is found does not count. */
const UNKNOWN_KEYS = { name: 'unknown keys', perSecond: 20, burst: 200 };

/** Whose uses of this minute are noted. */
const NOTED_MAX = 10_000;

const MINUTE_MS = 60_000;

/** A response that has not begun: the limit of unknown keys sets no headers. */
const WITHOUT_HEADERS = { header: () => WITHOUT_HEADERS, getHeader: () => undefined } as never;

interface KeyCheckDependencies {
  readonly roles: Pick<RoleLookup, 'knownUser' | 'userOf'>;
  /** Notes the use of a key, at most once a minute for each. */
  readonly noteUse: (keyId: ServiceAccountKeyId) => Promise<void>;
  /** Milliseconds since 1970. */
  readonly nowMs?: () => number;
}

/** Verifies keys of service accounts. A revoked key is refused when the entry in the cache of roles ends, after a second. */
export class KeyCheck {
  private readonly unknownKeys = new RateLimit(UNKNOWN_KEYS);
  private readonly noted = new LRUCache<ServiceAccountKeyId, number>({ max: NOTED_MAX });
  private readonly networks = new WeakMap<DirectoryKey, BlockList>();

  constructor(private readonly dependencies: KeyCheckDependencies) {}

  /**
   * The service account of a key, with its roles.
   *
   * @throws CredentialError if the key is no valid one, or the request does not come from its networks
   * @throws Refusal `rate_limited` for an address that has guessed too many keys; `unavailable`
   */
  async userOf(
    text: string,
    sourceAddress = '',
  ): Promise<{ readonly subject: Subject; readonly user: DirectoryUser; readonly key: DirectoryKey }> {
    const id = idOfKey(text);
    if (id === undefined) throw new CredentialError('malformed');
    const subject: Subject = { issuer: KEY_ISSUER, subject: String(id) };
    const user = this.dependencies.roles.knownUser(subject) ?? (await this.look(subject, sourceAddress));
    const key = user?.key;
    // Compared without a hint in the time that it takes.
    if (!user || !key || !timingSafeEqual(hash('sha256', text, 'buffer'), key.hash)) {
      throw new CredentialError('unknown_key');
    }
    const nowMs = this.dependencies.nowMs?.() ?? Date.now();
    if (key.expiresAtMs !== undefined && key.expiresAtMs <= nowMs) throw new CredentialError('expired');
    if (!this.isWithin(key, sourceAddress)) throw new CredentialError('network');
    this.note(id, nowMs);
    return { subject, user, key };
  }

  private async look(subject: Subject, sourceAddress: string): Promise<DirectoryUser | undefined> {
    this.unknownKeys.take(WITHOUT_HEADERS, sourceAddress);
    const user = await this.dependencies.roles.userOf(subject);
    if (user) this.unknownKeys.giveBack(sourceAddress);
    return user;
  }

  private isWithin(key: DirectoryKey, sourceAddress: string): boolean {
    if (key.networks.length === 0) return true;
    const version = isIP(sourceAddress);
    if (version === 0) return false;
    let allowed = this.networks.get(key);
    if (allowed === undefined) this.networks.set(key, (allowed = blockListOf(key.networks)));
    return allowed.check(sourceAddress, version === 6 ? 'ipv6' : 'ipv4');
  }

  /** Not awaited: a use that cannot be noted is noted with the next request. */
  private note(id: ServiceAccountKeyId, nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (this.noted.get(id) === minute) return;
    this.noted.set(id, minute);
    this.dependencies.noteUse(id).catch(() => this.noted.delete(id));
  }
}

function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of networks) {
    const network = parseNetwork(text);
    if (network) list.addSubnet(network.address, network.prefix, network.family);
  }
  return list;
}
