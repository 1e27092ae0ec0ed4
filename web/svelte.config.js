// Runes everywhere: the compiler need not guess.
export default { compilerOptions: { runes: true } };
