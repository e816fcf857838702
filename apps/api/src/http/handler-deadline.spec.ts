import fastify from 'fastify';
import { boundHandlers } from './handler-deadline.js';

describe('Given a bound for handlers', () => {
  it('When one takes longer, Then its caller is answered, and what it says afterwards goes nowhere', async () => {
    const server = fastify();
    boundHandlers(server, { withdrawAfterMs: 1, answerAfterMs: 1, checkEveryMs: 1 });
    let finish: (word: string) => void = () => undefined;
    const ended = new Promise<string>((resolve) => (finish = resolve));
    server.get('/', () => ended);

    const answer = await server.inject('/');
    finish('too late');
    await server.close();

    expect(answer.json()).toMatchObject({ message: 'The answer took too long.' });
  });
});
