import { ConfigError } from '@banking/process';
import { readConfig } from '../config.js';

describe('PUBLIC_URL', () => {
  const read = (PUBLIC_URL: string) => readConfig({ PUBLIC_URL }, false).publicUrl;

  it.each([
    ['', undefined],
    ['https://bank.example', 'https://bank.example'],
    ['https://bank.example/', 'https://bank.example'],
    ['https://bank.example/payments', 'https://bank.example/payments'],
    ['https://bank.example/payments/', 'https://bank.example/payments'],
    ['https://Bank.example:443/a/../b', 'https://bank.example/b'],
    ['http://127.0.0.1:8080/payments', 'http://127.0.0.1:8080/payments'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
  ])('is read from "%s" as %s', (given, expected) => {
    expect(read(given)).toBe(expected);
  });

  it.each([
    ['bank.example', 'https://'],
    ['/payments', 'https://'],
    ['http://bank.example', 'https://'],
    ['ftp://bank.example', 'https://'],
    ['https://user@bank.example', 'user name'],
    ['https://user:secret@bank.example', 'user name'],
    ['https://bank.example/payments?tenant=1', 'query'],
    ['https://bank.example/payments?', 'query'],
    ['https://bank.example/#top', 'fragment'],
    ['https://bank.example//other.example', 'empty path segment'],
    ['https://bank.example/a//b', 'empty path segment'],
    ['https://bank.example/a/..//other.example', 'empty path segment'],
    ['https://bank.example/\\other.example', 'empty path segment'],
  ])('is refused with the value "%s", which is not repeated', (given, said) => {
    const mistakes = () => {
      try {
        return [read(given)];
      } catch (error) {
        if (error instanceof ConfigError) return error.mistakes;
        throw error;
      }
    };

    expect(mistakes()).toEqual([expect.stringMatching(new RegExp(`^PUBLIC_URL .*${said}`))]);
    expect(mistakes()[0]).not.toContain('secret');
  });
});
