import type { User } from '@banking/domain';
import { type Answer, ask, type Question } from '../answers.js';
import { OwnIssuer } from '../identity/own-issuer.js';
import { withTokens } from '../identity/own-service.js';
import { CANARY } from '../log-lines.js';
import { ADA, BOB } from '../service.js';
import { BesiegedGateway } from './besieged-gateway.js';
import { json, PEOPLE } from './hostile-upstream.js';
import { DISBELIEVED, LISTED, OTHER_APP } from './lying-lists.js';

describe('Given a gateway that learns from an upstream who its callers are', () => {
  let issuer: OwnIssuer;
  let besieged: BesiegedGateway;
  beforeAll(async () => {
    issuer = await OwnIssuer.start();
    besieged = await BesiegedGateway.start({ OIDC_ISSUER: issuer.issuer, UPSTREAM_TOKEN: `opaque-${CANARY}` });
  }, 60_000);
  afterAll(async () => {
    await besieged?.stop();
    await issuer?.stop();
  });
  afterEach(() => {
    besieged.upstream.listsTrick = undefined;
    besieged.upstream.users = PEOPLE;
    expect(besieged.wrongLines()).toEqual([]);
  });

  const tokenOf = (email: string) => issuer.token(email, { email, email_verified: true });
  const askWith = (token: string, path = '/accounts', question: Question = {}) =>
    ask(withTokens(besieged.service), path, { as: token, workspace: 1, ...question });
  const read = (email: string): Promise<Answer> => askWith(tokenOf(email));
  async function until(email: string, status: number): Promise<void> {
    while ((await read(email)).status !== status);
  }
  /** What the upstream says now is what the gateway knows: a stranger makes it look again, if not at once. */
  async function learn(): Promise<void> {
    const before = besieged.upstream.listsRead;
    while (besieged.upstream.listsRead === before) await read('learner@x.example');
  }

  it('When the lists contradict themselves or give what is nothing Then that is nobody, or may do nothing', async () => {
    besieged.upstream.users = [...PEOPLE, ...LISTED.flatMap(([, , , users]) => users)];
    besieged.upstream.apps = [1, 2].map((id) => ({ id, name: `App ${id}` }));
    besieged.upstream.usersOf2 = OTHER_APP;
    await learn();

    const got = await Promise.all(LISTED.map(async ([what, email]) => [what, (await read(email)).status]));

    expect(got).toEqual(LISTED.map(([what, , status]) => [what, status]));
    expect(await besieged.gateway.said(/"userIds":\[([\d,]+)\]/)).toBe('13,14,15,16,17,18,99');
    expect((await read(ADA)).status).toBe(200);
  });

  it.each(DISBELIEVED)('When a list %s Then nobody is let in by it, until it is mended', async (_, trick, status) => {
    besieged.upstream.listsTrick = (response, asked) => {
      if (asked.path === '/apps') json(besieged.upstream.apps)(response, asked);
      else trick(response, asked);
    };

    const before = besieged.upstream.listsRead;
    let answer: Answer;
    do answer = await read(ADA);
    while (besieged.upstream.listsRead === before);

    expect(answer.status).toBe(status);
    expect((await askWith('no.token.x')).status).toBe(401);
  });

  it.each([
    ['no e-mail', { email: undefined }],
    ['an e-mail its issuer has not verified', { email_verified: false }],
    ['an e-mail that is said to be verified in a text', { email_verified: 'true' }],
    ['an e-mail that nobody says anything of', { email_verified: undefined }],
    ['a list of e-mails', { email: [ADA] }],
  ])('When a good token carries %s Then whoever shows it is nobody', async (what, claims) => {
    await until(ADA, 200);

    const token = issuer.token(`with ${what}`, { email: ADA, email_verified: true, ...claims });

    expect((await askWith(token)).status).toBe(401);
  });

  it('When the same person comes by another subject Then it is the same user: none is bound', async () => {
    const one = await askWith(issuer.token('first', { email: ADA, email_verified: true }));
    const other = await askWith(issuer.token('second', { email: ADA.toUpperCase(), email_verified: true }));

    expect([one.status, other.status]).toEqual([200, 200]);
  });

  it('When many strangers come at once Then the lists are read about once a second', async () => {
    const [before, startedMs] = [besieged.upstream.listsRead, performance.now()];

    const answers = await Promise.all(Array.from({ length: 300 }, (_, at) => read(`stranger-${at}@x.example`)));

    const seconds = (performance.now() - startedMs) / 1_000;
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    // There are two apps.
    expect((besieged.upstream.listsRead - before) / 2).toBeLessThanOrEqual(1 + Math.ceil(seconds));
  });

  it('When the users of an app are asked for Then each sees whom our own books would show', async () => {
    const list = async (email: string) => {
      const { body } = await askWith(tokenOf(email), '/apps/1/users');
      return (body as User[]).map(({ email: seen, edges }) => [seen, edges.roles?.length]);
    };
    besieged.upstream.users = [...PEOPLE, { id: 3, email: 'cy@x.example', status: 'pending' }];
    await learn();

    expect(await list(ADA)).toEqual([[ADA, 1], [BOB, 1], ['cy@x.example', 0]]); // prettier-ignore
    expect(await list(BOB)).toEqual([[ADA, 1], [BOB, 1]]); // prettier-ignore
    expect(await list('cy@x.example')).toEqual([['cy@x.example', 0]]);
    expect((await askWith(tokenOf(BOB), '/apps/3/users')).body).toMatchObject({ reason: 'app_not_found' });
  });

  it('When there are 100,000 users Then each is known', async () => {
    const crowd = Array.from({ length: 100_000 }, (_, at) => ({ id: 1_000 + at, email: `u${at}@x.example` }));
    besieged.upstream.users = [...crowd, ...PEOPLE];

    await until('u99999@x.example', 403);
    await until(ADA, 200);
  });
});
