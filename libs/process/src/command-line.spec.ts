import { usageFor } from './run-service.js';

const USAGE = 'Usage: npm start\n';

describe('the command line of a service', () => {
  it('starts the service without arguments', () => {
    expect(usageFor([], USAGE)).toBeUndefined();
  });

  it.each(['-h', '--help'])('prints the usage for %s', (option) => {
    expect(usageFor([option], USAGE)).toEqual({ text: USAGE, exitCode: 0 });
  });

  it.each([
    [['--port', '80'], "unknown option '--port'"],
    [['--help', '--port'], "unknown option '--port'"],
    [['--help', '--help'], 'too many arguments'],
    [['now'], 'too many arguments'],
  ])('refuses %j with "%s" and exit code 2', (args, mistake) => {
    expect(usageFor(args, USAGE)).toEqual({
      text: `error: ${mistake}\nThe option --help prints the usage.\n`,
      exitCode: 2,
    });
  });
});
