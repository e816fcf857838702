import { hash, randomBytes } from 'node:crypto';
import { Directory, type DirectoryUser, keyText, Refusal, type Subject, type UserId } from '@banking/domain';
import { KeyCheck } from './key-check.js';
import { RoleLookup } from './role-lookup.js';
import { CredentialError } from './token-verifier.js';

const TEXT = keyText(5, randomBytes(32));

/** A directory with one key, whose terms the tests change. */
class Keys extends Directory {
  looked = 0;
  uses: number[] = [];
  fails = false;

  constructor(public user: DirectoryUser | undefined) {
    super();
  }

  async userOf({ subject }: Subject): Promise<DirectoryUser | undefined> {
    this.looked += 1;
    return subject === '5' ? this.user : undefined;
  }

  override async noteKeyUse(id: number): Promise<void> {
    if (this.fails) throw new Refusal('unavailable');
    this.uses.push(id);
  }
}

const userWith = (key: object = {}): DirectoryUser =>
  ({
    id: 9 as UserId,
    grants: [],
    key: { id: 5, hash: hash('sha256', TEXT, 'buffer'), networks: [], ...key },
  }) as unknown as DirectoryUser;

function open(user: DirectoryUser | undefined = userWith()) {
  const directory = new Keys(user);
  const clock = { ms: 1_800_000_000_000 };
  const roles = new RoleLookup(directory, () => clock.ms);
  const check = new KeyCheck({ roles, noteUse: (id) => directory.noteKeyUse(id), nowMs: () => clock.ms });
  const faultOf = (text: string, from?: string) =>
    check.userOf(text, from).then(
      () => 'accepted',
      (error: unknown) => (error instanceof CredentialError ? error.fault : (error as Refusal).reason),
    );
  return { directory, clock, check, faultOf };
}

describe('a key', () => {
  it('is accepted with its service account, and found in the cache for a second', async () => {
    const { directory, clock, check } = open();

    expect(await check.userOf(TEXT)).toMatchObject({ user: { id: 9 }, key: { id: 5 } });
    await check.userOf(TEXT);
    expect(directory.looked).toBe(1);
    clock.ms += 1_001;
    await check.userOf(TEXT);
    expect(directory.looked).toBe(2);
  });

  it('is refused a second after it is revoked', async () => {
    const { directory, clock, faultOf } = open();
    await faultOf(TEXT);
    directory.user = undefined;
    clock.ms += 1_000;

    expect(await faultOf(TEXT)).toBe('unknown_key');
  });

  it('is refused with another text for the same id, and without a look-up with a wrong checksum', async () => {
    const { directory, faultOf } = open();

    expect(await faultOf(keyText(5, randomBytes(32)))).toBe('unknown_key');
    expect(await faultOf(keyText(6, randomBytes(32)))).toBe('unknown_key');
    expect(directory.looked).toBe(2);
    expect(await faultOf(`${TEXT.slice(0, -1)}${TEXT.endsWith('0') ? '1' : '0'}`)).toBe('malformed');
    expect(directory.looked).toBe(2);
  });

  it('is refused from its expiry on, also from the cache', async () => {
    const { clock, faultOf } = open(userWith({ expiresAtMs: 1_800_000_000_500 }));
    expect(await faultOf(TEXT)).toBe('accepted');
    clock.ms += 500;

    expect(await faultOf(TEXT)).toBe('expired');
  });

  it.each([
    [['203.0.113.0/24'], '203.0.113.9', 'accepted'],
    [['203.0.113.0/24'], '203.0.114.9', 'network'],
    [['203.0.113.0/24', '2001:db8::/32'], '2001:db8::7', 'accepted'],
    [['2001:db8::/32'], '2001:db9::7', 'network'],
    [['203.0.113.9/32'], '', 'network'],
    [['0.0.0.0/0'], '2001:db8::7', 'network'],
    [[], '', 'accepted'],
  ])('of the networks %j is, from %j, %s', async (networks, from, outcome) => {
    expect(await open(userWith({ networks })).faultOf(TEXT, from)).toBe(outcome);
  });

  it('is noted once a minute, and again after a failure', async () => {
    const { directory, clock, faultOf } = open();
    directory.fails = true;
    await faultOf(TEXT);
    directory.fails = false;
    await faultOf(TEXT);
    await faultOf(TEXT);
    expect(directory.uses).toEqual([5]);
    clock.ms += 60_000;
    await faultOf(TEXT);

    expect(directory.uses).toEqual([5, 5]);
  });

  it('is not noted if it is refused', async () => {
    const { directory, faultOf } = open(userWith({ networks: ['10.0.0.0/8'] }));
    await faultOf(TEXT, '192.0.2.1');

    expect(directory.uses).toEqual([]);
  });
});

it('one address can guess a limited number of keys, and others go on', async () => {
  const { directory, faultOf } = open();
  const outcomes: string[] = [];
  for (let guess = 0; guess < 400; guess += 1) {
    outcomes.push(await faultOf(keyText(1_000 + guess, randomBytes(32)), '192.0.2.1'));
  }

  expect(outcomes.filter((outcome) => outcome === 'rate_limited').length).toBeGreaterThan(0);
  expect(directory.looked).toBeLessThan(400);
  expect(await faultOf(TEXT, '192.0.2.2')).toBe('accepted');
  // What is known already needs no look-up.
  expect(await faultOf(TEXT, '192.0.2.1')).toBe('accepted');
});
