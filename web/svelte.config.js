// Runes in all files, so that the compiler need not guess.
export default { compilerOptions: { runes: true } };
