/** Lines of Markdown that keep their line break: items, table rows, headings, and indented or fenced code. */
const KEEPS_ITS_LINE = /^(?:[-|# {]|```|\d\. )/;

/**
 * Text in Markdown, written in lines of source. An empty line ends a paragraph.
 *
 * Swagger UI shows a line break inside a paragraph, so the lines of a paragraph are joined by spaces.
 */
export const paragraphs = (...lines: readonly string[]): string =>
  lines.reduce((text, line) => {
    if (text === '' || text.endsWith('\n\n')) return `${text}${line}`;
    if (line === '') return `${text}\n\n`;
    return `${text}${KEEPS_ITS_LINE.test(line) ? '\n' : ' '}${line}`;
  }, '');
