import { Writable } from 'node:stream';
import pino from 'pino';
import { loggerOptions } from './logger.js';

describe('loggerOptions', () => {
  it('leaves the row that a database error names out of the log', () => {
    const lines: string[] = [];
    const sink = new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines.push(chunk.toString());
        done();
      },
    });
    const thrown = Object.assign(
      new Error('duplicate key', { cause: Object.assign(new Error('below'), { detail: 'ada@northwind.example' }) }),
      {
        code: '23505',
        detail: 'Key (email)=(ada@northwind.example) already exists.',
        where: 'COPY app_user, line 1: "ada@northwind.example"',
      },
    );

    pino(loggerOptions('info'), sink).error({ err: thrown }, 'unhandled error');

    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      err: { code: '23505', message: 'duplicate key', cause: { message: 'below' } },
    });
    expect(lines.join()).not.toContain('ada@');
  });
});
