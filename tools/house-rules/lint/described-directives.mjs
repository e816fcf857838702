const DIRECTIVE = /^\s*(eslint-(?:disable|enable)(?:-next-line|-line)?)(?=\s|$)/;
const DESCRIPTION = /\s-{2,}\s+\S/;

/**
 * Whoever switches a rule off says why, so that the next reader can tell an exception from an escape:
 * `// eslint-disable-next-line no-console -- the CLI's answer goes to the terminal`.
 */
export default {
  meta: {
    type: 'problem',
    docs: { description: 'Ask for a reason behind every eslint-disable comment.' },
    schema: [],
    messages: { undescribed: 'Say why: write "{{directive}} … -- the reason".' },
  },

  create(context) {
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          const directive = DIRECTIVE.exec(comment.value)?.[1];
          if (!directive || directive === 'eslint-enable' || DESCRIPTION.test(comment.value)) continue;
          // Reported one column before the comment, else the directive would silence its own report.
          const start = { line: comment.loc.start.line, column: -1 };
          context.report({ loc: { start, end: comment.loc.end }, messageId: 'undescribed', data: { directive } });
        }
      },
    };
  },
};
