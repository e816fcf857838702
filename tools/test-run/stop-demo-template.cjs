module.exports = require('./demo-template.cjs').removeDemoTemplate;
