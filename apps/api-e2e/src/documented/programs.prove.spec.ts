import * as ts from 'typescript';
import { OPTIONS, programs, writeProgram } from './pages.js';

describe('pages for integrators', () => {
  it('show programs that compile', () => {
    programs.forEach(writeProgram);
    const files = programs.map(({ file }) => file);

    const errors = ts.getPreEmitDiagnostics(ts.createProgram(files, OPTIONS));

    expect(errors.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);
    expect(files).not.toHaveLength(0);
  });
});
