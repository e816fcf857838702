module.exports = {
  preset: '../../jest.preset.js',
  displayName: 'worker',
};
