module.exports = require('./demo-template.cjs').makeDemoTemplate;
