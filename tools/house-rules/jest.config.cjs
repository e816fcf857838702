module.exports = {
  preset: '../../jest.preset.js',
  displayName: 'house-rules',
};
